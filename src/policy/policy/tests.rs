//! One check, many rows: settings, a text, the verdict.

use std::path::{Path, PathBuf};

use super::*;
use crate::policy::action::{Action, RunCommand};
use crate::policy::{AllowedCommands, RuleSettings};

const BASE: &[&str] =
    &["ls", "cat", "git", "find", "grep", "echo", "head", "tail", "wc", "sort", "true", "cd", "pwd", "printf", "test"];

/// A machine with the usual programs in /usr/bin, `busybox` links in /opt, and a link in the project that leads out.
struct Table;

impl Programs for Table {
    fn find(&self, name: &str) -> Option<PathBuf> {
        (!name.starts_with("missing")).then(|| Path::new("/usr/bin").join(name))
    }

    fn real(&self, path: &Path) -> PathBuf {
        let path = crate::base::lexical::normal(path);
        match path.to_str().unwrap() {
            "/p/link-to-rm" => "/usr/bin/rm".into(),
            "/p/out/x" => "/outside/x".into(),
            text => text.strip_prefix("/bin/").map_or(path.clone(), |name| Path::new("/usr/bin").join(name)),
        }
    }
}

fn settings(allow: &[&str], ask: &[&str], deny: &[&str]) -> Settings {
    let owned = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
    Settings { allow: owned(allow), ask: owned(ask), deny: owned(deny), ..Settings::default() }
}

fn judge(settings: &Settings, text: &str) -> Judgement {
    let action = RunCommand { command: text.to_owned(), cwd: "/p".into(), search_path: None, description: None };
    let scene = Scene { home: Some("/home/me".into()), ..Scene::in_project(Path::new("/p")) };
    Policy::new(settings).unwrap().judge(&action.subject(), &scene, &Table)
}

#[track_caller]
fn check(settings: &Settings, rows: &[(&str, Verdict)]) {
    let judged = rows.iter().map(|(text, verdict)| (text, verdict, judge(settings, text)));
    let wrong = judged.filter(|(_, verdict, judgement)| judgement.verdict != **verdict);
    let wrong: Vec<_> = wrong.map(|(text, verdict, judgement)| (text, verdict, judgement.reason)).collect();
    assert!(wrong.is_empty(), "text, expected verdict, reason for another: {wrong:#?}");
}

use Verdict::{Allow, Ask, Deny};

#[test]
fn without_any_rule_nothing_is_parsed() {
    check(&Settings::default(), &[("anything ((( goes", Allow)]);
}

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
        "((<<-E\n\trm x); )",
        "\\\n((<<-E\n\trm x); )",
        "( ( ls ) )",
    ];
    check(&settings(&[], &[], &["rm", "git push"]), &dynamic.map(|text| (text, Ask)));
}

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
            ("echo ${x:-y}", Ask),
            ("echo ${ ls; }", Ask),
            ("git \"$x\"", Ask),
            ("git $x status", Ask),
            ("timeout 5 ls", Ask),
            ("time ls", Allow),
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
fn the_strictest_rule_wins() {
    check(
        &settings(&["git", "ls"], &["git push"], &["git push --force"]),
        &[
            ("git status", Allow),
            ("git push origin", Ask),
            ("git push --force", Deny),
            ("ls; git push", Ask),
            ("make; git push --force", Deny),
        ],
    );
    let unlisted = |verdict| Settings { unlisted: Some(verdict), ..settings(&["ls"], &[], &[]) };
    check(&unlisted(Deny), &[("ls", Allow), ("make", Deny), ("$x", Deny)]);
    check(&unlisted(Allow), &[("ls", Allow), ("make", Allow), ("$x", Ask)]);
}

#[test]
fn allowed_commands_binds_every_simple_command() {
    let only = |value: &str| Settings { allowed_commands: AllowedCommands::read(Some(value)), ..Settings::default() };
    check(&only("ls,cat"), &[("ls | cat", Allow), ("ls; pwd", Deny), ("ls $(pwd)", Deny), ("$x", Deny)]);
    check(&only(""), &[("ls", Deny)]);
    check(&only("*"), &[("anything", Allow)]);
    check(&only("git"), &[("git status", Allow), ("git -c a=b status", Deny)]);
    let both = Settings { allow: vec!["ls".into()], ..only("ls,cat") };
    check(&both, &[("ls", Allow), ("cat x", Ask), ("pwd", Deny)]);
}

#[test]
fn the_lists_of_gemini_are_rules() {
    let lists = |core: &[&str], exclude: &[&str]| Settings {
        core_tools: core.iter().map(|entry| (*entry).to_owned()).collect(),
        exclude_tools: exclude.iter().map(|entry| (*entry).to_owned()).collect(),
        ..Settings::default()
    };
    check(
        &lists(&["run_shell_command(git)"], &["run_shell_command(git push)"]),
        &[("git --version", Allow), ("git   push origin x", Deny), ("touch m1; ls", Ask)],
    );
    check(
        &lists(&[], &["run_shell_command(rm)"]),
        &[("echo rm f", Allow), ("ls | rm f", Deny), ("(rm f)", Deny), ("true & rm f", Deny)],
    );
    check(&lists(&[], &["run_shell_command"]), &[("ls", Deny)]);
    check(&lists(&["run_shell_command"], &[]), &[("ls", Allow)]);
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
fn a_rule_that_contradicts_its_examples_is_refused() {
    let rule = |matches: &[&str], not_match: &[&str]| RuleSettings {
        command: "git push".into(),
        verdict: Ask,
        reason: "publishing is the user's decision".into(),
        matches: matches.iter().map(|text| (*text).to_owned()).collect(),
        not_match: not_match.iter().map(|text| (*text).to_owned()).collect(),
        arguments: crate::policy::settings::Arguments::default(),
    };
    let new = |rule| Policy::new(&Settings { rule: vec![rule], ..Settings::default() });
    let policy = new(rule(&["git push origin main", "git -C x push", "ls && git push"], &["git status"])).unwrap();
    assert_eq!(policy.unlisted(), Allow, "a rule that asks allows nothing by name");
    let error = new(rule(&["git status"], &[])).unwrap_err().to_string();
    assert_eq!(
        error,
        "the rule [[policy.rule]] command = \"git push\" contradicts its example: \"git status\" is in `match`, but the rule does not name it"
    );
    assert!(new(rule(&[], &["git push"])).is_err());
}

#[test]
fn a_changed_path_pins_the_programs() {
    let action = RunCommand { command: "ls; echo x".into(), cwd: "/p".into(), search_path: None, description: None };
    let scene = Scene { usual_path: false, ..Scene::in_project(Path::new("/p")) };
    let policy = Policy::new(&settings(BASE, &[], &[])).unwrap();
    let judgement = policy.judge(&action.subject(), &scene, &Table);
    assert_eq!(judgement.canonical.as_deref(), Some("/usr/bin/ls; echo x"));
}

#[test]
fn input_for_a_running_program_is_held_to_the_restrictions_only() {
    let policy = Policy::new(&settings(&["ls"], &[], &["rm"])).unwrap();
    let scene = Scene::in_project(Path::new("/p"));
    for (text, verdict) in [("y\n", Allow), ("rm x\n", Deny), ("print(1)\n", Allow), ("\u{3}", Allow)] {
        assert_eq!(policy.judge(&Subject::Input(text), &scene, &Table).verdict, verdict, "{text:?}");
    }
}
