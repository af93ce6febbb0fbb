//! With rules that deny or ask, and none that allow: a restricted program is found wherever it is, and everything else runs.

use super::*;

#[test]
fn a_denied_program_is_found_wherever_it_stands() {
    check(
        &settings(&[], &[], &["rm", "git push"]),
        &[
            ("ls", Allow),
            ("rm x", Deny),
            ("ls; rm x", Deny),
            ("ls && /bin/rm x", Deny),
            ("./link-to-rm x", Deny),
            ("echo $(rm x)", Deny),
            ("echo `rm x`", Deny),
            ("cat <(rm x)", Deny),
            ("ls > >(rm x)", Deny),
            ("A=1 \"rm\" x", Deny),
            ("r\\m x", Deny),
            ("$'\\x72m' x", Deny),
            ("{rm,x}", Deny),
            ("echo rm", Allow),
            ("git status", Allow),
            ("git push origin", Deny),
            ("git -C x push", Deny),
            ("for f in *; do rm \"$f\"; done", Deny),
            ("if true; then rm x; fi", Deny),
            ("f() { rm x; }; f", Deny),
            ("case x in x) rm y;; esac", Deny),
            ("while true; do rm x; done", Deny),
            ("[[ -f $(rm x) ]]", Deny),
            ("env A=1 rm x", Deny),
            ("timeout 5 rm x", Deny),
            ("find . -exec rm {} +", Deny),
            ("ls | xargs rm", Deny),
            ("ls | xargs --replace rm x", Deny),
            ("bash -c 'rm x'", Deny),
            ("sh -ec 'ls; rm x'", Deny),
            ("command rm x", Deny),
            ("exec rm x", Deny),
            ("eval 'rm x'", Deny),
            ("trap 'rm x' EXIT", Deny),
            ("coproc rm x", Deny),
            ("GIT_PAGER='rm x' git log", Deny),
            ("tar -I rm -cf x.tar y", Deny),
            ("nohup sh -c 'timeout 1 rm x' &", Deny),
            ("cat <<E\n$(rm x)\nE", Deny),
            ("sudo rm x", Deny),
        ],
    );
}

#[test]
fn a_deny_list_does_not_stand_in_the_way_of_work() {
    let ordinary = [
        "for i in 1 2; do echo $i; done",
        "x=$(date); echo \"$x\"",
        "i=0; while [ $i -lt 3 ]; do i=$((i+1)); done",
        "for ((i=0;i<3;i++)); do echo $i; done",
        "[[ -f x && $y == *.rs ]] && ls",
        "cat > f <<'EOF'\nanything $(rm x) `goes`\nEOF",
        "cat > f <<EOF\nhome is $HOME\nEOF",
        "git commit -m \"$(cat <<'EOF'\nremove (the) rm's\nEOF\n)\"",
        "python3 -c 'print(1)'",
        "bash build.sh",
        "export PATH=\"$HOME/bin:$PATH\" && make",
        "arr=(a b c); echo ${arr[@]} ${#arr[@]}",
        "f() { local x=$1; echo \"$x\"; }; f 1",
        "echo x > ~/.config/x",
        "echo ${x:-y} ${x%.rs} ${x//a/b} ${#x}",
        "npm test 2>&1 | tail -20",
        "sed -i s/a/b/ f; awk '{print > \"x\"}' f",
        "git checkout \"$branch\"",
        "ls -la\n\n# a comment\npwd # another",
        "set -euo pipefail; cd \"$dir\"; make -j4",
        "diff <(sort a) <(sort b)",
        "test -n \"$x\" && echo yes || echo no",
        "sleep 1 & wait",
        "echo \"it's\" 'a \"b\"' $'c\\n'",
        "((count++)); echo $count",
        "time ls; ! false",
        "curl -s https://h/x | jq .a",
    ];
    check(&settings(&[], &[], &["rm", "git push"]), &ordinary.map(|text| (text, Allow)));
    let dynamic = [
        "$cmd x",
        "${X:-rm} x",
        "r$@m x",
        "eval \"$x\"",
        "source ./s.sh",
        ". s.sh",
        "echo cm0geA== | base64 -d | sh",
        "/bin/r?",
        "bash -c \"$x\"",
        "git \"$x\"",
        "RM x",
        "\u{440}m x",
        "python3 -c 'import os; os.system(\"rm x\")'",
        "x='a[$(rm y)]'; echo $((x))",
        "y='a[$(rm z)]'; echo ${!y}",
        "printf -v 'a[$(rm x)]' y",
        "[ -v 'a[$(rm x)]' ]",
        "hash -p /bin/rm ls; ls",
        "ls \r\nrm x",
        "cat <<E $(rm x)\nE",
        "cat <<E\n$\\\n(rm x)\nE",
        "find . -o\"$x\"k rm ';'",
        "find . -x${x:-y -exec rm}",
        "ls | xargs -I X X y",
        "git rebase \"$x\" 'rm y'",
        "((<<-E\n\trm x); )",
        "\\\n((<<-E\n\trm x); )",
        "( ( ls ) )",
    ];
    check(&settings(&[], &[], &["rm", "git push"]), &dynamic.map(|text| (text, Ask)));
}

#[test]
fn input_for_a_running_program_is_held_to_the_restrictions_only() {
    let policy = Policy::new(&settings(&["ls"], &[], &["rm"])).unwrap();
    let scene = Scene::in_project(Path::new("/p"));
    for (text, verdict) in [("y\n", Allow), ("rm x\n", Deny), ("print(1)\n", Allow), ("\u{3}", Allow)] {
        assert_eq!(policy.judge(&Subject::Input(text), &scene, &Table).verdict, verdict, "{text:?}");
    }
}
