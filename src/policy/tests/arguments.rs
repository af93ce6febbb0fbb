//! What a rule that allows covers: vetted arguments, the words that it names, and programs that nobody can have replaced.

use super::*;

#[test]
fn an_interpreter_without_a_script_of_its_own_is_opaque() {
    let programs = settings(&["python3", "node", "perl", "cat", "python3 -m pytest", "bash scripts/x.sh"], &[], &[]);
    check(
        &programs,
        &[
            ("python3 <<< 'print(1)'", Ask),
            ("python3 <<'E'\nprint(1)\nE", Ask),
            ("cat x | python3", Ask),
            ("python3", Ask),
            ("python3 - < x", Ask),
            ("node < x.js", Ask),
            ("python3 -m json.tool x", Ask),
            ("python3 -I -m json.tool x", Ask),
            ("python3 -c 'print(1)'", Ask),
            ("python3 x.py", Ask),
            ("python3 --version", Allow),
            ("python3 -V", Allow),
            ("perl -v", Allow),
            // The rule names these very words.
            ("python3 -m pytest -q tests", Allow),
            ("bash scripts/x.sh --all", Allow),
            ("bash scripts/y.sh", Ask),
            ("bash < scripts/x.sh", Ask),
        ],
    );
    let restricted = settings(&[], &[], &["rm"]);
    check(
        &restricted,
        &[
            ("python3 - <<'E'\nprint(1)\nE", Allow),
            ("python3 <<< 'import os; os.system(\"rm x\")'", Ask),
            ("cat x | python3", Ask),
            ("python3 x.py", Allow),
            ("echo rm x | parallel", Ask),
        ],
    );
}

#[test]
fn a_rule_vouches_for_the_words_that_it_names() {
    check(&settings(&["git -c core.pager=cat log"], &[], &[]), &[("git -c core.pager=cat log", Allow)]);
    check(&settings(&["git -c"], &[], &[]), &[("git -c core.pager=pwn log", Ask)]);
    check(&settings(&["npx eslint"], &[], &[]), &[("npx eslint .", Allow), ("npx pwn", Ask)]);
    check(&settings(&["set -e"], &[], &[]), &[("set -e", Allow), ("set -e -o posix", Ask)]);
}

#[test]
fn a_program_that_commands_can_replace_is_asked_about() {
    let rules = settings(&["venv-tool", "ls", "timeout", "missing", "./build.sh"], &[], &[]);
    check(
        &rules,
        &[
            ("ls", Allow),
            ("venv-tool x", Ask),
            ("timeout 5 venv-tool", Ask),
            ("missing x", Ask),
            // The rule names this very file.
            ("./build.sh", Allow),
        ],
    );
    let any: Settings =
        toml::from_str("[[rule]]\ncommand = \"venv-tool\"\nverdict = \"allow\"\narguments = \"any\"").unwrap();
    check(&any, &[("venv-tool x", Allow)]);
}

#[test]
fn a_program_that_a_command_put_into_the_home_is_asked_about() {
    let rules = settings(&["home-tool", "home-planted", "timeout"], &[], &[]);
    let overlaid = Overlaid { home: "/home/me".into(), upper: "/state/upper".into() };
    let scene = Scene { overlaid: Some(overlaid), ..Scene::in_project(Path::new("/p")) };
    for (text, verdict) in [
        ("home-tool x", Allow),
        ("home-planted x", Ask),
        ("timeout 5 home-tool", Allow),
        ("timeout 5 home-planted", Ask),
        ("/home/me/bin/home-planted", Ask),
    ] {
        let action = RunCommand { command: text.to_owned(), cwd: "/p".into(), search_path: None, description: None };
        let judgement = Policy::new(&rules).unwrap().judge(&action.subject(), &scene, &Table);
        assert_eq!(judgement.verdict, verdict, "{text}: {:?}", judgement.reason);
    }
}

#[test]
fn builtins_that_touch_nothing_need_no_rule() {
    check(
        &settings(&["ls"], &[], &["pwd"]),
        &[
            ("cd src && ls", Allow),
            ("echo done", Allow),
            ("true; false; :", Allow),
            ("[ -f x ] && test -d y", Allow),
            ("printf '%s\\n' a", Allow),
            ("printf -v x y", Ask),
            ("test -v x", Ask),
            ("echo x > ../y", Ask),
            ("/bin/echo x", Ask),
            ("env echo x", Ask),
            ("pwd", Deny),
            ("kill 1", Ask),
        ],
    );
    let unlisted = Settings { unlisted: Some(Deny), ..settings(&["ls"], &[], &[]) };
    check(&unlisted, &[("cd src && ls", Allow), ("cat x", Deny)]);
}

#[test]
fn options_of_a_rule_are_a_set() {
    check(
        &settings(&[], &[], &["rm -rf", "git push --force"]),
        &[
            ("rm -rf x", Deny),
            ("rm -fr x", Deny),
            ("rm -r -f x", Deny),
            ("rm x -rf", Deny),
            ("rm -v -r --force x", Ask),
            ("rm --recursive --force x", Ask),
            ("rm -Rf x", Ask),
            ("rm x", Allow),
            ("rm -r x", Allow),
            ("rm *.o", Allow),
            ("rm \"$x\"", Ask),
            ("git push origin main --force", Deny),
            ("git push --force origin", Deny),
            ("git push -f", Ask),
            ("git push origin main", Allow),
            ("git commit -m 'git push --force'", Allow),
            ("sudo rm -fr x", Deny),
        ],
    );
}

#[test]
fn safe_is_a_list_of_commands_that_only_look() {
    check(
        &settings(&["@safe"], &[], &["git show"]),
        &[
            ("ls -la | head -3", Allow),
            ("cd src && rg -n x | wc -l", Allow),
            ("git status && git log --oneline -5", Allow),
            ("git -C sub diff", Allow),
            ("git show HEAD", Deny),
            ("git commit -m x", Ask),
            ("git branch new", Ask),
            ("find . -name x -exec grep y {} +", Allow),
            ("find . -exec pwn {} +", Ask),
            ("find . -delete", Ask),
            ("sort -o x y", Ask),
            ("make", Ask),
            ("./ls", Ask),
        ],
    );
    let error = |settings: Settings| Policy::new(&settings).unwrap_err().to_string();
    assert!(error(settings(&[], &["@safe"], &[])).contains("can only be allowed"));
    assert!(error(settings(&["@nothing"], &[], &[])).contains("@nothing"));
}

#[test]
fn a_suggestion_is_never_wider_than_the_command() {
    let rows = [
        (&["npm test"][..], "npm run build", Some("npm run build")),
        (&["ls"], "touch x", Some("touch x")),
        (&["ls"], "grep 'a b' x", Some("grep \"a b\" x")),
        (&["ls"], "mystery $x y", Some("mystery")),
        (&["python3"], "python3 x.py", Some("python3 x.py")),
        (&["ls"], "eval \"$x\"", None),
    ];
    for (allow, command, words) in rows {
        let judgement = judge(&settings(allow, &[], &[]), command);
        assert_eq!(judgement.permits().map(|words| words.join("; ")).as_deref(), words, "{command}");
        if let Some(words) = words {
            let more: Vec<&str> = allow.iter().copied().chain([words]).collect();
            assert_eq!(judge(&settings(&more, &[], &[]), command).verdict, Allow, "{words} does not permit {command}");
        }
    }
}

#[test]
fn grants_are_for_the_command_that_the_rule_names_and_not_for_what_stands_beside_it() {
    let rules: Settings = toml::from_str(
        "allow = [\"make\", \"git\"]\n[[rule]]\ncommand = \"git push\"\nverdict = \"ask\"\ngrants = [\"ssh-agent\", \"host:github.com\"]",
    )
    .unwrap();
    let granted = |text: &str| judge(&rules, text).grants.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    assert_eq!(granted("git push"), "ssh-agent host:github.com");
    assert_eq!(granted("cd x && git push 2>&1 | tail -3"), "ssh-agent host:github.com");
    for text in ["make && git push", "git status", "mystery; git push", "git push; eval \"$x\"", "X=1 git push"] {
        assert_eq!(granted(text), "", "{text}");
    }
    let error = |grant: &str, verdict: &str| {
        let text = format!("[[rule]]\ncommand = \"ls\"\nverdict = \"{verdict}\"\ngrants = [\"{grant}\"]");
        Policy::new(&toml::from_str(&text).unwrap()).unwrap_err().to_string()
    };
    assert!(error("ssh-agnt", "allow").contains("\"ssh-agnt\""));
    assert!(error("ssh-agent", "deny").contains("lets nothing through"));
}
