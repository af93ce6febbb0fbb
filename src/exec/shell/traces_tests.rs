use super::*;

fn state() -> ShellState {
    let environment = [("N", "5"), ("TEXT", "x y"), ("OCTAL", "08")];
    let environment = environment.map(|(name, value)| (name.into(), value.into())).to_vec();
    ShellState { cwd: "/".into(), environment: environment.into() }
}

fn traces(text: &str) -> Option<Traces> {
    Traces::of(text, &state())
}

#[test]
fn texts_that_only_call_programs_leave_nothing_behind() {
    for text in [
        "",
        "ls -la /tmp",
        "git log --format='%H $x' -n 3 | head -2",
        "cargo test --all 2>&1 | tail -20; echo done",
        "grep -rn \"a b\" src/*.rs && ./run <in >>out || false",
        "sleep 1\nenv A=1 make",
        "test -f x && test -d y && test a = b",
        "echo a >&2; ls 2>&1 >&- | cat 3>&1",
        "echo \"$TEXT ${N} $((N + 1)) $? it's \\\"so\\\"!\" >/dev/null",
        "printf '%s %d\\n' \"$TEXT\" 5; pwd",
        "git commit -m 'a: b' -m \"c d\"",
    ] {
        assert_eq!(traces(text).map(|traces| traces.variables), Some(vec![]), "{text}");
    }
}

#[test]
fn directories_and_exports_are_known() {
    for (text, variables, programs) in [
        ("cd /tmp", vec!["PWD", "OLDPWD"], false),
        ("cd /tmp && ls | head; cd -", vec!["PWD", "OLDPWD"], true),
        ("export A=1", vec!["A"], false),
        ("export A= B=\"$N x\" A=~/y; echo $A", vec!["A", "B"], false),
        ("export N=$((N + 1)); echo $TEXT $N $PWD", vec!["N"], false),
        ("true", vec![], false),
        ("echo a | cd /", vec!["PWD", "OLDPWD"], true),
    ] {
        let variables = variables.into_iter().map(ToOwned::to_owned).collect();
        assert_eq!(traces(text), Some(Traces { variables, programs }), "{text}");
    }
}

#[rustfmt::skip]
const OTHERS: &[&str] = &[
        "c'd' /tmp",
        "c\\d /tmp",
        "A=1",
        "A=1 B=2",
        "A=1 ls",
        ">x cd /tmp",
        ">x A=1",
        "{ cd /tmp; }",
        "(cd /tmp)",
        "! cd /tmp",
        "time cd /tmp",
        "if true; then cd /tmp; fi",
        "$x",
        "$TEXT",
        "echo ${A:=1}",
        "echo $((A=1))",
        "echo \"${A:=1}\"",
        "echo `cd /`",
        "echo \"`cd /`\"",
        "cat <<E\nit's\nE\ncd /tmp",
        "ls # it's\ncd /tmp",
        "ls \\\ncd /tmp",
        "f() { cd /tmp; }; f",
        "printf -v PATH x",
        "printf '-v' PATH x",
        "printf '%n' N",
        "printf '%5n' N",
        "printf $N",
        "wait -p PATH",
        "exec 3<x",
        "echo 'a",
        "echo \"a",
        "ls\u{a0}cd",
        "ls &>x",
        "ls |& cat",
        "cat <(cd /)",
        "cat >(cd /)",
        "[ -f x ]",
        "sleep 1 &",
        "sleep 1 & true",
        "exit 3",
        "export A",
        "export -n N",
        "export $TEXT=1",
        "export PATH=/x",
        "export IFS=x",
        "export BASH_ENV=x",
        "export LC_ALL=C",
        "export 1=2",
        "export A+=1",
        "echo $$",
        "echo $!",
        "echo $_",
        "echo $BASHPID",
        "echo ${BASH_SUBSHELL}",
        "echo $1",
        "echo $@",
        "echo $-",
        "echo ${#N}",
        "echo ${!N}",
        "echo $((N++))",
        "echo $((N / 0))",
        "echo $((1 +))",
        "echo $((TEXT))",
        "echo $((OCTAL))",
        "echo $((08))",
        "export M=x; echo $((M))",
        "echo $((RANDOM))",
        "echo $(cd /)",
        "printf 2>/dev/null -v PATH /nowhere",
        "printf 12>x '%s' a",
        "printf",
        "test '-v' 'N[N=9]'",
        "test $X 'N[N=9]'",
        "test -v[N=9]",
        "echo x >&11",
        "cat <&10",
        "echo x >&251",
        "echo x >&$N",
        "echo x >& file",
        "echo x 12>file",
        "echo x 1\"2\">&-3",
        "export LD_PRELOAD=x",
        "__testudo_end",
        "test -v N",
        "test x -a -v N",
        "source x",
        ". x",
        "eval x",
        "set -e",
        "trap x EXIT",
        "read x",
        "unset N",
        "kill -9 $$",
        "{a,b}",
        "echo {a,b}",
        "alias ls=x",
        "ls;\u{0}",
        "echo $'a'",
        "echo $\"a\"",
];

#[test]
fn what_may_leave_something_else_is_not() {
    for text in OTHERS {
        assert_eq!(traces(text), None, "{text}");
    }
    let functions =
        ShellState { cwd: "/".into(), environment: vec![("BASH_FUNC_ls%%".into(), "() { cd /; }".into())].into() };
    assert_eq!(Traces::of("ls", &functions), None);
}

#[test]
fn the_shell_runs_nothing_else_itself() {
    let bash = std::process::Command::new("bash").args(["-c", "compgen -b; compgen -k"]).output().unwrap();
    let names = String::from_utf8(bash.stdout).unwrap();
    assert!(names.lines().count() > 60, "{names}");
    for name in names.lines() {
        assert!(OF_THE_SHELL.split_ascii_whitespace().any(|known| known == name), "{name}");
    }
}

/// What bash says of everything that a shell can keep, in a directory of its own, after a text. Variables that the text may
/// change are left out.
fn kept(directory: &std::path::Path, text: &str, changed: &[String]) -> String {
    let report = directory.join("report");
    let script = "eval \"$1\" 7>&-; { declare -p; trap; shopt; set -o; umask; alias; declare -F; jobs; ulimit -a; echo /proc/self/fd/*; dirs; } >&7 2>&1";
    let _ = std::process::Command::new("bash")
        .args(["-c", &format!("exec 7>{}; {script}", report.display()), "bash", text])
        .current_dir(directory)
        .env_clear()
        .envs([("PATH", "/usr/bin:/bin"), ("N", "5"), ("TEXT", "x y")])
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    // What every shell has of its own, whatever it has run.
    let own =
        ["_", "PPID", "PIPESTATUS", "SECONDS", "SRANDOM", "RANDOM", "EPOCH", "LINENO", "BASH"].map(ToOwned::to_owned);
    let is_of = |line: &str, name: &String| {
        line.strip_prefix("declare ")
            .and_then(|rest| rest.split_once(' '))
            .is_some_and(|(_, rest)| rest.starts_with(name))
    };
    let names = |line: &&str| !changed.iter().chain(&own).any(|name| is_of(line, name));
    let moved = changed.iter().any(|name| name == "PWD");
    let shown = std::fs::read_to_string(report).unwrap();
    shown
        .lines()
        .filter(names)
        .filter(|line| line.starts_with("/proc") || !(moved && line.starts_with(['/', '~'])))
        .collect::<Vec<_>>()
        .join("\n")
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(1500))]
    /// A real bash has nothing new after a text of known traces, except for them.
    #[test]
    fn bash_agrees(parts in proptest::collection::vec(
        proptest::sample::select(vec!["true ", "true ", "ls ", "x ", "true", "cd", "cd /tmp", "/", "A=1", "export", "export A=", "export N=$((N + 2))", "A", "\n", ";", "|", "&&", "&",
            "'", "\"", " ", "<", ">", "x", "$", "$N", "${TEXT}", "$((N*3))", "{", "}", "(", ")", "=", "\\", "#", "!", "if", "then", "fi", "read", "<<E", "E", "unset", "-v", "printf ",
            "'%s'", "eval", "."]), 1..12)
    ) {
        let text: String = parts.concat();
        if let Some(traces) = traces(&text) {
            let directory = tempfile::tempdir().unwrap();
            let run = |text: &str| kept(directory.path(), text, &traces.variables);
            let before = run(":");
            proptest::prop_assert!(before.lines().count() > 50, "{}", before);
            proptest::prop_assert_eq!(before, run(&text), "{}", text);
        }
    }
}
