//! With rules that allow: everything must be understood and named, and runs as it was judged.

use super::*;

#[test]
fn an_allow_list_wants_everything_named_and_understood() {
    check(
        &settings(BASE, &[], &[]),
        &[
            ("ls -la | head -5 | wc -l", Allow),
            ("[ -f Cargo.toml ] && echo yes", Allow),
            ("echo {a,b}.txt", Allow),
            ("\n\nls\n", Allow),
            ("echo \"$HOME\" $USER ~/x", Allow),
            ("ls > out.txt 2>&1", Allow),
            ("ls >/dev/null 2>&1", Allow),
            ("cat < README.md", Allow),
            ("cat <<'E'\n$(pwn)\nE", Allow),
            ("echo $(ls | wc -l)", Allow),
            ("for f in *.rs; do wc -l \"$f\"; done", Allow),
            ("if [ -f x ]; then cat x; else echo none; fi", Allow),
            ("(cd sub && ls)", Allow),
            ("LC_ALL=C sort x", Allow),
            ("x=1; echo \"$x\"", Allow),
            ("echo $((1+2))", Allow),
            ("sort *.csv", Allow),
            ("git add -- *.rs", Allow),
            ("git commit -m \"$(cat <<'EOF'\nfix: it's (done)\nEOF\n)\"", Allow),
            ("/bin/ls", Allow),
            ("/usr/bin/ls -l", Allow),
            ("find . -name '*.rs' -exec grep -l x {} +", Allow),
            ("./ls", Ask),
            ("/tmp/evil/ls", Ask),
            ("pwn", Ask),
            ("echo a & pwn", Ask),
            ("find . -exec pwn {} +", Ask),
            ("find . -name *.rs", Ask),
            ("echo x > ../f", Ask),
            ("echo x > $HOME/.profile", Ask),
            ("echo x > out/x", Ask),
            ("cd /etc && echo x > passwd", Ask),
            ("while true; do cd ..; done; echo x > f", Ask),
            ("cat < /dev/tcp/h/80", Ask),
            ("PATH=/evil ls", Ask),
            ("for PATH in /evil; do ls; done", Ask),
            ("export A=1", Ask),
            ("f() { ls; }; f", Ask),
            ("[[ -f x ]]", Ask),
            ("echo $((x))", Ask),
            ("echo ${x:-y} ${#x} \"${x%.c}\" ${x##*/}", Allow),
            ("echo ${x:-$(pwn)}", Ask),
            ("echo ${x:=y}", Ask),
            ("${x:-ls} y", Ask),
            ("git commit -m \"$(cat <<EOF\nfix: $x\nEOF\n)\"", Allow),
            ("echo ${ ls; }", Ask),
            ("git \"$x\"", Ask),
            ("git $x status", Ask),
            ("timeout 5 ls", Ask),
            ("time ls", Allow),
        ],
    );
}

#[test]
fn a_protected_name_is_asked_about_however_it_is_written() {
    check(
        &settings(&["echo", "cp", "tee", "sort", "cd"], &[], &[]),
        &[
            ("echo x > .zed/x", Ask),
            ("echo x >> .ZED", Ask),
            ("echo x &> sub/.zed/x", Ask),
            ("cd sub && echo x > .zed", Ask),
            ("echo x | tee .zed/x", Ask),
            ("cp x .zed/x", Ask),
            ("cp tasks.json .vscode", Ask),
            ("sort -o deploy/a.key x", Ask),
            ("echo x > innocent", Ask),
            ("echo x > .git/config", Ask),
            ("echo x > .git/HEAD", Ask),
            ("cp .zed/x y", Allow),
            ("echo x > .zedx", Allow),
            ("echo x > .vscode/words.txt", Allow),
            ("sort -o deploy/a.txt x", Allow),
        ],
    );
}

#[test]
fn what_is_allowed_runs_as_it_was_judged() {
    let rows = [
        ("ls   -la # all", "ls -la"),
        ("\"l\"s 'a b' a\\ b", "ls 'a b' 'a b'"),
        ("echo a;\n\necho b &", "echo a; echo b &"),
        ("echo \"$HOME/x\" ~/y *.rs", "echo \"${HOME}\"/x ~/y *.rs"),
        ("cat <<'E'\na $b\nE", "cat <<< 'a $b'"),
        ("cat <<E\na $b \\$c\nE", "cat <<< 'a '\"${b}\"' $c'"),
        ("cat <<E\nsay \\\"hi\\\"\nE", "cat <<< 'say \\\"hi\\\"'"),
        ("(ls;pwd)|cat>x 2>&1", "( ls; pwd ) | cat > x 2>&1"),
        ("echo `ls`", "echo $( ls )"),
        ("if true;then ls;fi", "if true; then ls; fi"),
        ("sort *.csv", "sort ./*.csv"),
        ("ls '' \"\"", "ls '' ''"),
        ("ls ~/'a b' ~", "ls ~/'a b' ~"),
        ("echo $'a\\ab\\'c'", "echo $'a\\u0007b\\'c'"),
        ("echo ${x}y\"${z}\"", "echo ${x}y\"${z}\""),
        ("\\ls", "ls"),
        ("echo a=b 'x=y'", "echo a=b x=y"),
        ("ls |& cat", "ls 2>&1 | cat"),
        ("echo x >&2", "echo x >&2"),
    ];
    for (text, canonical) in rows {
        let judgement = judge(&settings(BASE, &[], &[]), text);
        assert_eq!(judgement.canonical.as_deref(), Some(canonical), "{text}\n{judgement:#?}");
    }
    assert_eq!(judge(&settings(&[], &[], &["rm"]), "ls").canonical, None, "a deny list changes nothing");
}

#[test]
fn programs_of_the_project_are_allowed_by_path() {
    let project = Settings { allow_project_commands: true, ..settings(&["cd"], &[], &["evil"]) };
    check(
        &project,
        &[
            ("./build.sh --all", Allow),
            ("/p/scripts/x", Allow),
            ("scripts/x", Allow),
            ("cd scripts && ./x", Allow),
            ("./link-to-rm x", Ask),
            ("../x", Ask),
            ("/q/x", Ask),
            ("cd /q && ./x", Ask),
            ("cd \"$d\" && ./x", Ask),
            ("build.sh", Ask),
            ("./evil", Deny),
        ],
    );
}

#[test]
fn arguments_any_lifts_the_vetting() {
    let rule = |arguments: &str| -> Settings {
        let text = format!("[[rule]]\ncommand = \"python3\"\nverdict = \"allow\"\narguments = \"{arguments}\"");
        toml::from_str(&text).unwrap()
    };
    check(&rule("any"), &[("python3 -c 'x'", Allow), ("python3 x.py | pwn", Ask)]);
    check(&rule("vetted"), &[("python3 -c 'x'", Ask), ("python3 --version", Allow)]);
}

#[test]
fn a_changed_path_pins_the_programs() {
    let action = RunCommand { command: "ls; echo x".into(), cwd: "/p".into(), search_path: None, description: None };
    let scene = Scene { usual_path: false, ..Scene::in_project(Path::new("/p")) };
    let policy = Policy::new(&settings(BASE, &[], &[])).unwrap();
    let judgement = policy.judge(&action.subject(), &scene, &Table);
    assert_eq!(judgement.canonical.as_deref(), Some("/usr/bin/ls; echo x"));
}
