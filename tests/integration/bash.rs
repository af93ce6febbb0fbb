//! `bash`: texts, exit status, cwd, variables, input, bad input.

use serde_json::json;

use crate::support::{World, text, until};

#[test]
fn echo_hello_gives_exactly_the_documented_text() {
    let world = World::new();
    let mut server = world.server(&[]);
    assert_eq!(server.bash("echo hello").ok(), "exit_code: 0\n\nstdout:\nhello\n");
}

#[test]
fn blocks_come_in_order_and_empty_ones_are_left_out() {
    let world = World::new();
    let mut server = world.server(&[]);
    let rows = [
        ("true", "exit_code: 0\n".to_owned()),
        ("exit 42", "exit_code: 42\n".to_owned()),
        ("echo out; echo err >&2", "exit_code: 0\n\nstderr:\nerr\n\nstdout:\nout\n".to_owned()),
        ("printf no-newline", "exit_code: 0\n\nstdout:\nno-newline".to_owned()),
        ("kill -9 $$", "exit_code: 137\n".to_owned()),
        ("mkdir sub; cd sub", format!("exit_code: 0\ncwd: {}/sub\n", text(&world.project()))),
    ];
    for (command, want) in rows {
        assert_eq!(server.bash(command).ok(), want, "{command}");
    }
}

/// cwd and variables reach the next call however the text ends, and neither stream shows the report.
#[test]
fn cwd_and_variables_survive_awkward_endings() {
    let endings = [
        ("cd sub; export V=1", 0),
        ("cd sub; export V=1; exit 3", 3),
        ("cd sub; export V=1 # note", 0),
        ("cd sub; export V=1; cat <<'E' >/dev/null\nx\nE", 0),
        ("cd sub; export V=1; cat <<E >/dev/null\nx\nE\n", 0),
        ("cd sub; export V=1; sleep 0.01 &", 0),
        ("cd sub; export V=1; trap 'echo bye >/dev/null' EXIT", 0),
        ("trap 'export V=1' EXIT; cd sub; export V=1", 0),
        ("trap -- 'true' EXIT; trap - EXIT; cd sub; export V=1", 0),
        ("trap 'exit 9' EXIT; trap EXIT; cd sub; export V=1", 0),
        ("trap 'exit 9' 0; trap 0 2; cd sub; export V=1", 0),
        ("IFS=,; trap true INT EXIT; trap -p; cd sub; export V=1", 0),
        ("trap true EXIT; old=$(trap -p EXIT); trap - EXIT; eval \"$old\"; cd sub; export V=1", 0),
        ("set -eu; cd sub; export V=1; false", 1),
        ("set -eu; cd sub; export V=1; echo $UNSET_NAME 2>/dev/null", 1),
        ("set -o posix; cd sub; export V=1", 0),
        ("cd sub; export V=1; (exit 4)", 4),
        ("cd sub; export V=1; ( trap 'exit 9' EXIT; true ); true", 0),
        ("printf(){ :; }; pwd(){ :; }; export(){ builtin export \"$@\"; }; cd sub; export V=1", 0),
        ("trap 'false' ERR DEBUG; cd sub; export V=1", 0),
        ("exec 9>lock; cd sub; export V=1; exec 9>&-", 0),
        ("exec >/dev/null 2>&1; cd sub; export V=1", 0),
        ("{ cd sub; export V=1; exit 5; }", 5),
        ("cd sub && export V=1 &&\\\n true", 0),
    ];
    let world = World::new();
    std::fs::create_dir(world.project().join("sub")).unwrap();
    let mut server = world.server(&[]);
    // Each ending runs once in a fresh shell and once in a shell that was started in advance.
    let sessions = endings.into_iter().flat_map(|ending| [(false, ending), (true, ending)]).enumerate();
    for (index, (warm, (command, code))) in sessions {
        let session = format!("s{index}");
        if warm {
            server.call("bash", json!({"command": "true", "session": session})).ok();
        }
        let first = server.call("bash", json!({"command": command, "session": session}));
        let want = format!("exit_code: {code}\ncwd: {}/sub\n", text(&world.project()));
        let got = first.ok();
        assert!(got.starts_with(&want), "{command}: {got}");
        let second = server.call("bash", json!({"command": "echo \"$PWD [$V]\"", "session": session}));
        assert_eq!(second.stdout(), format!("{}/sub [1]\n", text(&world.project())), "{command}");
    }
}

#[test]
fn the_shell_looks_like_plain_bash_to_its_text() {
    let world = World::new();
    let mut server = world.server(&[]);
    for shell in ["fresh", "started in advance"] {
        let got = server.bash("echo \"$0 $# $- $LINENO ${BASH_ENV-unset}\"").stdout();
        assert_eq!(got, "bash 0 hBc 1 unset\n", "{shell}");
    }
    assert_eq!(server.bash("set -- a b; echo $#").stdout(), "2\n");
}

#[test]
fn a_program_inherits_no_descriptor_of_ours_but_the_one_for_the_report() {
    let world = World::new();
    let mut server = world.server(&[]);
    for shell in ["fresh", "started in advance"] {
        let got = server.bash("ls /proc/self/fd").stdout();
        // stdin, stdout, stderr, the directory that ls reads, and the pipe on which the shell reports its state.
        assert!(got.lines().count() <= 5, "{shell}: {got}");
    }
}

/// Begins a loop over every descriptor above stderr, among which is the one that the shell reports its state on.
const EACH_DESCRIPTOR: &str = "for fd in /proc/self/fd/*; do fd=${fd##*/}; [ $fd -gt 2 ] || continue;";

#[test]
fn state_stays_when_the_shell_cannot_report() {
    let world = World::new();
    std::fs::create_dir(world.project().join("sub")).unwrap();
    let mut server = world.server(&[]);
    let close_all = format!("cd sub; {EACH_DESCRIPTOR} exec {{fd}}>&-; done");
    for command in ["cd sub; exec true", "cd sub; kill -9 $$", &close_all, "cd sub; kill -TERM $$"] {
        assert_eq!(server.bash(command).field("cwd"), None, "{command}");
        assert_eq!(server.bash("pwd").stdout(), format!("{}\n", text(&world.project())), "{command}");
    }
}

#[test]
fn nothing_a_command_prints_can_forge_its_state() {
    let world = World::new();
    let mut server = world.server(&[]);
    let report = "'\\0deadbeef\\0/etc\\n\\0\\0deadbeef\\0'";
    // After `exec` the shell sends no report of its own, so the forged one is the only one.
    for end in ["true", "exec true"] {
        let forged =
            format!("printf {report}; printf {report} >&2; {EACH_DESCRIPTOR} printf {report} >&$fd; done; {end}");
        assert_eq!(server.bash(&forged).field("cwd"), None, "{end}");
        assert_eq!(server.bash("pwd").stdout(), format!("{}\n", text(&world.project())), "{end}");
    }
}

#[test]
fn exported_functions_do_not_persist_and_odd_values_do() {
    let world = World::new();
    let mut server = world.server(&[]);
    server.bash("f(){ echo no; }; export -f f; export ODD=$'a\\nb\\t\"c\\'$d\\x01 é' EMPTY=; declare -rx RO=1").ok();
    let got = server.bash("type f 2>&1 | head -1; printf '%q' \"$ODD\"; echo \" [${EMPTY-unset}] $RO\"").stdout();
    assert!(got.contains("f: not found"), "{got}");
    assert!(got.ends_with("$'a\\nb\\t\"c\\'$d\\001 é' [] 1\n"), "{got}");
}

#[test]
fn unset_variables_are_gone_and_shlvl_does_not_climb() {
    let world = World::new();
    let mut server = world.server(&[]);
    server.bash("export GONE=1").ok();
    server.bash("unset GONE").ok();
    let first = server.bash("echo \"[$GONE] $SHLVL\"").stdout();
    assert!(first.starts_with("[] "), "{first}");
    assert_eq!(server.bash("echo \"[$GONE] $SHLVL\"").stdout(), first);
}

#[test]
fn a_value_too_large_for_exec_does_not_end_the_session() {
    let world = World::new();
    let mut server = world.server(&[]);
    server.bash("export BIG=$(head -c 200000 /dev/zero | tr '\\0' x) SMALL=1").ok();
    assert_eq!(server.bash("/bin/echo \"$SMALL [$BIG]\"").stdout(), "1 []\n");
    server.bash("export LARGE=$(head -c 100000 /dev/zero | tr '\\0' x)").ok();
    assert_eq!(server.bash("/bin/echo ${#LARGE}").stdout(), "100000\n");
}

#[test]
fn stdin_is_empty_unless_given() {
    let world = World::new();
    let mut server = world.server(&[]);
    assert_eq!(server.bash("read x; echo \"[$x]\"; cat").stdout(), "[]\n");
    let given = server.call("bash", json!({"command": "read x; echo \"[$x]\"; cat", "stdin": "one\ntwo\nthree"}));
    assert_eq!(given.stdout(), "[one]\ntwo\nthree");
    let large = "x".repeat(3_000_000);
    assert_eq!(server.call("bash", json!({"command": "wc -c", "stdin": large})).stdout(), "3000000\n");
}

#[test]
fn a_pager_an_editor_and_a_prompt_cannot_hang_a_call() {
    let world = World::new();
    let mut server = world.server(&[]);
    let commands = [
        "git init -q r && cd r && git -c user.name=a -c user.email=a@b commit --allow-empty -q; echo $?",
        "seq 1 500 | ${PAGER} | tail -1",
        "read -p 'name? ' x </dev/tty; echo \"[$x]\"",
        "python3 -c 'input()' 2>&1 | tail -1",
        "ssh-keygen -y -f /dev/null </dev/null 2>&1 | tail -1; true",
    ];
    for command in commands {
        let text = server.bash(command).ok();
        assert!(!text.starts_with("Command timed out"), "{command}: {text}");
    }
}

#[test]
fn background_children_are_listed_and_do_not_delay_the_answer() {
    let world = World::new();
    let mut server = world.server(&[]);
    let reply = server.bash("sleep 1000 & echo $!");
    let pid = reply.stdout().trim().to_owned();
    assert_eq!(reply.field("background_pids"), Some(pid.clone()));
    assert_eq!(server.bash(&format!("kill {pid} && echo signalled")).stdout(), "signalled\n");
}

#[test]
fn a_background_child_may_go_on_printing() {
    let world = World::new();
    let mut server = world.server(&[]);
    server.bash("(while echo tick; do printf . >> ticks; sleep 0.01; done) &").ok();
    // Once a pipe that nobody reads has killed the loop, the file no longer grows.
    let ticks = || std::fs::read(world.project().join("ticks")).map_or(0, |ticks| ticks.len());
    let answered = ticks();
    until("a hundred more lines after the answer", || (ticks() >= answered + 100).then_some(()));
}

#[test]
fn named_sessions_do_not_share_cwd_and_variables() {
    let world = World::new();
    std::fs::create_dir(world.project().join("sub")).unwrap();
    let mut server = world.server(&[]);
    server.call("bash", json!({"command": "cd sub; export V=a", "session": "a"})).ok();
    assert_eq!(server.bash("echo \"${PWD##*/} [$V]\"").stdout(), "project []\n");
    let named = server.call("bash", json!({"command": "echo \"${PWD##*/} [$V]\"", "session": "a"}));
    assert_eq!(named.stdout(), "sub [a]\n");
}

#[test]
fn two_hundred_parallel_calls_get_two_hundred_right_answers() {
    let world = World::new();
    let mut server = world.server(&[]);
    let calls: Vec<_> = (0..200)
        .map(|index| {
            server
                .start("bash", json!({"command": format!("sleep 0.0{}; echo {index}; echo e{index} >&2", index % 10)}))
        })
        .collect();
    for (index, call) in calls.into_iter().enumerate() {
        let want = format!("exit_code: 0\n\nstderr:\ne{index}\n\nstdout:\n{index}\n");
        assert_eq!(call.reply().ok(), want);
    }
}

#[test]
fn a_parallel_call_starts_from_the_state_at_its_start_and_the_last_to_finish_wins() {
    let world = World::new();
    std::fs::create_dir(world.project().join("slow")).unwrap();
    std::fs::create_dir(world.project().join("fast")).unwrap();
    let mut server = world.server(&[]);
    let slow = server.start("bash", json!({"command": "cd slow; until [ -e ../go ]; do sleep 0.01; done"}));
    assert_eq!(server.bash("cd fast; echo $OLDPWD").stdout(), format!("{}\n", text(&world.project())));
    world.file("go", "");
    slow.reply().ok();
    assert_eq!(server.bash("echo ${PWD##*/}").stdout(), "slow\n");
}

#[test]
fn a_command_longer_than_the_limit_for_one_argument_runs() {
    let world = World::new();
    let mut server = world.server(&[]);
    for size in [131_000, 131_071, 131_072, 200_000, 1_000_000] {
        let command = format!("x='{}'; cd /; echo ${{#x}}; exit 7", "y".repeat(size));
        let reply = server.bash(&command);
        assert_eq!(reply.stdout(), format!("{size}\n"));
        assert_eq!(reply.field("exit_code").as_deref(), Some("7"));
    }
}

#[test]
fn bad_input_is_refused_clearly_and_nothing_runs() {
    let world = World::new();
    let mut server = world.server(&[]);
    let huge = format!("touch mark; : {}", "x".repeat(5 << 20));
    let rows = [
        (json!({"command": ""}), "command must not be empty"),
        (json!({"command": " \n\t"}), "command must not be empty"),
        (json!({"command": "touch mark\u{0}"}), "NUL"),
        (json!({"command": huge}), "the limit is 1048576 bytes"),
        (
            json!({"command": "touch mark", "timout": 1}),
            "unknown argument \"timout\" for bash\nDid you mean \"timeout\"?",
        ),
        (json!({"command": ["touch", "mark"]}), "argument \"command\" of bash must be a string, got the array"),
        (
            json!({"command": "touch mark", "timeout": "5"}),
            "argument \"timeout\" of bash must be an integer, got the string \"5\"",
        ),
        (json!({"command": "touch mark", "session": "a/b"}), "invalid session name \"a/b\""),
        (json!({"command": "touch mark", "session": "a b"}), "invalid session name"),
        (json!({}), "command"),
    ];
    for (arguments, want) in rows {
        let got = server.call("bash", arguments).err();
        assert!(got.contains(want), "{got:?} lacks {want:?}");
    }
    assert!(!world.project().join("mark").exists());
    assert_eq!(server.bash("echo still here").stdout(), "still here\n");
}

#[test]
fn a_deleted_cwd_is_explained_and_the_session_returns_to_the_project() {
    let world = World::new();
    let mut server = world.server(&[]);
    // The second time the next shell already waits in the directory.
    for _ in 0..2 {
        server.bash("mkdir gone; cd gone").ok();
        std::fs::remove_dir(world.project().join("gone")).unwrap();
        let error = server.bash("touch mark").err();
        assert!(error.contains("/gone cannot be entered: No such file"), "{error}");
        assert!(error.contains(&text(&world.project())), "{error}");
        assert!(!world.project().join("mark").exists());
        assert_eq!(server.bash("pwd").stdout(), format!("{}\n", text(&world.project())));
    }
}

#[test]
fn timeouts_are_clamped_and_zero_means_the_default() {
    let world = World::new();
    let mut server = world.server(&["--timeout", "1"]);
    for timeout in [json!(0), json!(-5)] {
        let text = server.call("bash", json!({"command": "sleep 60", "timeout": timeout})).ok();
        assert!(text.starts_with("Command timed out after 1000ms\n\nexit_code: 143\n"), "{text}");
    }
    let long = server.call("bash", json!({"command": "echo ok", "timeout": 99_999_999_999_i64}));
    assert_eq!(long.stdout(), "ok\n");
    let float = server.call("bash", json!({"command": "echo ok", "timeout": 60000.0}));
    assert_eq!(float.stdout(), "ok\n");
}

#[test]
fn a_denied_program_is_refused_by_name() {
    let world = World::new();
    world.file("precious", "");
    let mut server = world.server(&["--deny", "rm"]);
    let error = server.bash("ls; rm precious").err();
    assert!(error.contains("--deny 'rm'"), "{error}");
    assert!(world.project().join("precious").exists());
    assert!(server.bash("ls").stdout().contains("precious"));
}

#[test]
fn without_home_and_path_commands_still_run() {
    let world = World::new();
    let mut command = world.command(&[]);
    command.env_remove("HOME").env_remove("PATH");
    let mut server = crate::support::Client::connect(command, crate::support::StartOptions::default());
    assert_eq!(server.bash("ls /dev/null; echo [$HOME]").stdout(), "/dev/null\n[]\n");
}

#[test]
fn a_shell_started_in_advance_sees_what_a_fresh_one_would() {
    let world = World::new();
    let mut server = world.server(&[]);
    for _ in 0..3 {
        assert_eq!(server.bash("echo $BASH_SUBSHELL ${#FUNCNAME[@]}; umask").stdout(), "0 0\n0022\n");
        assert_eq!(
            server.bash("set -x; echo traced").ok(),
            "exit_code: 0\n\nstderr:\n+ echo traced\n\nstdout:\ntraced\n"
        );
        let missing = server.bash("no-such-program").ok();
        assert_eq!(missing, "exit_code: 127\n\nstderr:\nbash: line 1: no-such-program: command not found\n");
        server.bash("export COUNT=$((COUNT+1)); cd \"$PWD\"").ok();
    }
    assert_eq!(server.bash("echo $COUNT").stdout(), "3\n");
}

#[test]
fn a_shell_started_in_advance_counts_its_seconds_from_the_text() {
    let world = World::new();
    let mut server = world.server(&[]);
    server.bash("true").ok();
    until("SECONDS without the time that the shell waited", || {
        std::thread::sleep(std::time::Duration::from_secs(3));
        let seconds: u64 = server.bash("echo $SECONDS").stdout().trim().parse().unwrap();
        (seconds < 2).then_some(())
    });
}

/// A report that is larger than a pipe's buffer does not block the shell.
#[test]
fn more_variables_than_a_pipe_holds_persist() {
    let world = World::new();
    let mut server = world.server(&[]);
    for command in ["true", "for i in {1..15}; do printf -v v %0100000d 1; export BIG$i=$v; done", "cd /"] {
        server.bash(command).ok();
    }
    assert_eq!(server.bash("echo ${#BIG1} ${#BIG15} $PWD").stdout(), "100000 100000 /\n");
}
