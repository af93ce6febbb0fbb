//! What makes short commands fast changes nothing that they do: shells that run one command after the other.

use serde_json::json;

use crate::support::{Client, StartOptions, World, descendants, everywhere, until, waiting_shells};

#[test]
fn a_plain_command_leaves_the_session_as_it_is_and_any_other_moves_it() {
    let world = World::new();
    let mut server = world.server(&[]);
    server.bash("mkdir -p sub/inner; cd sub; export A=1 B='x y'").ok();
    for _ in 0..3 {
        assert_eq!(server.bash("true").text(), "exit_code: 0\n");
        assert!(server.bash("ls | cat && env A=2 true; false || exit 7").text().starts_with("exit_code: 7\n"));
    }
    let shown = server.bash("echo \"$PWD $A $B\"").text();
    assert!(shown.contains(&format!("{}/sub 1 x y\n", world.project().display())), "{shown}");
    for (text, moved) in [("ls; cd inner", "/sub/inner"), ("ls &&\ncd ..", "/sub"), ("A=5; ls", "/sub")] {
        server.bash(text).ok();
        let shown = server.bash("echo \"at $PWD, $A\"").text();
        let a = if text.starts_with('A') { "5" } else { "1" };
        assert!(shown.contains(&format!("at {}{moved}, {a}\n", world.project().display())), "{text}: {shown}");
    }
}

#[test]
fn a_plain_command_that_removes_its_directory_says_so() {
    everywhere("", &[], |inside| {
        let project = inside.world.project().display().to_string();
        let shown = inside.client.bash("echo \"at $TMPDIR.\"").text();
        let tmp = shown.split_once("at ").unwrap().1.split_once(".\n").unwrap().0.to_owned();
        for place in [format!("{project}/gone"), format!("{tmp}/gone")] {
            inside.client.bash(&format!("mkdir -p {place}; cd {place}")).ok();
            // The second call of a directory finds a shell that waits in it.
            inside.client.bash("true").ok();
            let shown = inside.client.bash(&format!("rm -rf {place}")).text();
            assert!(shown.contains(&format!("cwd: {project} ({place} no longer exists)\n")), "{shown}");
            assert!(inside.client.bash("pwd").text().contains(&project));
        }
    });
}

/// Below a shell that stays, no program has the descriptor on which the shell reports. Below another one, every program has.
#[test]
fn a_program_that_writes_to_the_channel_of_its_shell_ends_and_moves_nothing() {
    everywhere("", &[], |inside| {
        inside.client.bash("mkdir -p sub; cd sub").ok();
        let project = inside.world.project().display().to_string();
        for word in ["!", "x", "stale", "0123456789abcdef!", "=0123456789abcdef0\\0"] {
            let write = format!("import os, time; os.write(251, b'{word}'); time.sleep(0.1); print('later')");
            let shown = inside.client.bash(&format!("x=1; python3 -c \"{write}\" && env false")).text();
            assert_eq!(shown, "exit_code: 1\n\nstdout:\nlater\n", "{word}");
            assert!(inside.client.bash("pwd").text().contains(&format!("{project}/sub\n")), "{word}");
            let shown = inside.client.bash(&format!("python3 -c \"{write}\"")).text();
            assert!(shown.starts_with("exit_code: 1\n") && shown.contains("Bad file descriptor"), "{shown}");
        }
    });
}

/// The pid of the only shell that waits, in its own namespace.
fn waiting_shell(client: &Client) -> String {
    until("one shell that waits", || <[String; 1]>::try_from(waiting_shells(client.pid())).ok())[0].clone()
}

#[test]
fn a_shell_stays_as_long_as_texts_leave_nothing_behind_in_it() {
    everywhere("", &[], |inside| {
        let staying = [
            "true",
            "ls | cat",
            "mkdir -p sub; cd sub",
            "export A=1 B=\"$A x\"",
            "no-such-program",
            "cd - && cd sub",
            "echo \"é\"",
            "test -d sub; printf '%s' a",
        ];
        for text in staying {
            // On a busy machine a text may take longer than a shell that stays may.
            until(&format!("a shell that stays after {text}"), || {
                inside.client.bash("true").ok();
                let before = waiting_shell(&inside.client);
                inside.client.bash(text).ok();
                (waiting_shell(&inside.client) == before).then_some(())
            });
        }
        assert!(inside.client.bash("echo \"$B, $PWD\"").text().contains(" x, /"));
        for text in ["A=2", "exit 0", "f() { :; }", "sleep 0.1", "sleep 0.01 & wait", "head -c 70000 /dev/zero"] {
            let before = waiting_shell(&inside.client);
            inside.client.bash(text).ok();
            until(&format!("another shell after {text}"), || {
                Some(waiting_shell(&inside.client)).filter(|now| *now != before)
            });
        }
    });
}

/// A text with stdin always has a new shell.
#[test]
fn a_shell_that_stays_answers_as_a_new_one() {
    let world = World::new();
    let mut server = world.server(&[]);
    std::fs::create_dir(world.project().join("sub")).unwrap();
    server.bash("export N=5 TEXT='x  y' E=").ok();
    for text in [
        "true",
        "false",
        "no-such-program",
        "ls no-such-file",
        "cat sub",
        "echo a; echo b >&2",
        "echo $TEXT \"$TEXT\" ${N}. $E $UNSET.",
        "echo $((N * 2 + 1))",
        "false; echo $?",
        "echo $?",
        "echo *",
        "ls | nothing-here | cat",
        "sh -c 'exit 300'",
        "printf '%s|%d\\n' a 1 b 2",
        "pwd; cd sub && pwd; cd ..",
        "cd no-such-directory",
        "echo \"a \\\"b\\\" \\$N !\"",
        "echo $RANDOM_UNSET $SECONDS",
        "type no-such-program",
        "env | grep -E '^(N|TEXT|E|_|OLDPWD|SHLVL)=' | sort",
        "echo \"$HOME\" ~ $PATH",
        "test -d sub && echo yes",
        "kill -0 1",
        "cat /proc/self/stat | cut -d' ' -f 41",
        "ulimit -n",
        "umask",
        "cat < no-such-file",
        "echo x > sub",
    ] {
        let new = server.call("bash", json!({"command": text, "stdin": ""})).text();
        for round in 0..3 {
            assert_eq!(server.bash(text).text(), new, "{text} ({round})");
        }
    }
}

#[test]
fn a_program_that_comes_later_in_the_path_is_found_by_a_shell_that_stays() {
    let world = World::new();
    let mut server = world.server(&[]);
    let (first, second) = (world.project().join("first"), world.project().join("second"));
    server.bash(&format!("mkdir first second; PATH={}:{}:$PATH", first.display(), second.display())).ok();
    let put = |directory: &std::path::Path, text: &str| {
        let path = directory.join("tool");
        std::fs::write(&path, format!("#!/bin/sh\necho {text}\n")).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    };
    put(&second, "old");
    for _ in 0..3 {
        assert_eq!(server.bash("tool").stdout(), "old\n");
    }
    put(&first, "new");
    assert_eq!(server.bash("tool").stdout(), "new\n");
    std::fs::remove_file(first.join("tool")).unwrap();
    assert_eq!(server.bash("tool").stdout(), "old\n");
}

/// A bash with such variables may not read what makes it wait, or end while it waits.
#[test]
fn a_shell_that_could_not_wait_never_swallows_a_command() {
    let world = World::new();
    for variable in ["POSIXLY_CORRECT=1", "POSIX_PEDANTIC=1", "SHELLOPTS=braceexpand:posix", "TMOUT=1"] {
        let launch = ["env", variable];
        let mut server = Client::connect(world.command_by(&launch, &[]), StartOptions::default());
        for round in 0..6 {
            let shown = server.bash(&format!("echo made >made{round}; cat made{round}; no-such-program")).text();
            assert!(shown.starts_with("exit_code: 127\n") && shown.contains("made\n"), "{variable} {round}: {shown}");
        }
    }
    let mut server = world.server(&[]);
    server.bash("export TMOUT=1").ok();
    until("no shell that waits", || waiting_shells(server.pid()).is_empty().then_some(()));
    for _ in 0..3 {
        assert_eq!(server.bash("echo $TMOUT").stdout(), "1\n");
    }
}

/// A program can change the pipe that it shares with the commands after it.
#[test]
fn a_program_that_changes_its_output_changes_it_for_nobody_else() {
    everywhere("", &[], |inside| {
        for change in [
            "fcntl.fcntl(1, fcntl.F_SETFL, os.O_NONBLOCK)",
            "fcntl.fcntl(1, 1031, 4096)",
            "fcntl.fcntl(2, fcntl.F_SETFL, os.O_NONBLOCK)",
        ] {
            inside.client.bash("true").ok();
            inside.client.bash(&format!("python3 -c 'import fcntl, os; {change}'")).ok();
            let look = "import fcntl; print(*(fcntl.fcntl(n, fcntl.F_GETFL) & 2048 for n in (1, 2)), fcntl.fcntl(1, 1032) > 4096)";
            assert_eq!(inside.client.bash(&format!("python3 -c '{look}'")).stdout(), "0 0 True\n", "{change}");
            assert!(inside.client.bash("seq 1 400000").text().starts_with("exit_code: 0\n"), "{change}");
        }
    });
}

#[test]
fn a_text_that_begins_with_a_dash_is_a_command_and_no_option() {
    let world = World::new();
    let mut server = world.server(&[]);
    for _ in 0..3 {
        for arguments in [json!({"command": "--version"}), json!({"command": "--version", "stdin": ""})] {
            let shown = server.call("bash", arguments).text();
            assert!(shown.starts_with("exit_code: 127\n") && shown.contains("--version: command not found"), "{shown}");
        }
    }
}

#[test]
fn the_directory_before_is_forgotten_when_it_has_gone() {
    let world = World::new();
    let mut server = world.server(&[]);
    for text in ["mkdir -p old; cd old", "cd ..; rmdir old", "true"] {
        server.bash(text).ok();
    }
    for arguments in
        [json!({"command": "echo \"$OLDPWD.\"; cd -"}), json!({"command": "echo \"$OLDPWD.\"; cd -", "stdin": ""})]
    {
        let shown = server.call("bash", arguments).text();
        assert!(shown.contains("stdout:\n.\n") && shown.contains("OLDPWD not set"), "{shown}");
    }
}

/// What a command leaves running is its own, with its pipes, and no later command of the session is taken for it.
#[test]
fn what_a_command_leaves_behind_stays_apart_from_the_next_ones() {
    everywhere("", &[], |inside| {
        for _ in 0..3 {
            inside.client.bash("true").ok();
            let left = inside.client.bash("sh -c 'sleep 60 & sleep 61 >/dev/null 2>&1 &'; false").text();
            let pids = left
                .lines()
                .find_map(|line| line.strip_prefix("background_pids: "))
                .unwrap_or_else(|| panic!("{left}"));
            assert!(left.starts_with("exit_code: 1\n") && pids.split(", ").count() == 2, "{left}");
            assert_eq!(inside.client.bash("echo next").text(), "exit_code: 0\n\nstdout:\nnext\n");
            assert!(
                inside
                    .client
                    .bash(&format!("kill -0 {}", pids.replace(", ", " ")))
                    .text()
                    .starts_with("exit_code: 0\n")
            );
            inside.client.bash(&format!("kill {}", pids.replace(", ", " "))).ok();
        }
    });
}

#[test]
fn a_command_that_is_stopped_takes_its_shell_along_and_the_next_one_has_another() {
    everywhere("", &[], |inside| {
        for _ in 0..3 {
            inside.client.bash("true").ok();
            let shown = inside.client.call("bash", json!({"command": "echo begun; sleep 60", "timeout": 300})).text();
            assert!(
                shown.starts_with("Command timed out after 300ms\n\nexit_code: 1") && shown.ends_with("begun\n"),
                "{shown}"
            );
            assert_eq!(inside.client.bash("echo next; pwd >/dev/null").stdout(), "next\n");
            let shown = inside
                .client
                .call("bash", json!({"command": "sleep 0.4; false", "timeout": 200, "on_timeout": "background"}))
                .text();
            assert!(shown.starts_with("Command still running after 200ms\n"), "{shown}");
            let task = shown.lines().find_map(|line| line.strip_prefix("task_id: ")).unwrap().to_owned();
            let ended = inside.client.call("task_output", json!({"task_id": task, "wait_ms": 20_000})).text();
            assert!(ended.starts_with("status: completed\nexit_code: 1\n"), "{ended}");
        }
    });
}

/// At whatever instant the shells of a session are killed, a result is that of the whole text, or says that it was killed.
#[test]
fn a_shell_that_is_killed_at_any_instant_is_never_taken_for_a_success() {
    let world = World::new();
    let mut server = world.server(&[]);
    let (mut whole, mut killed) = (0, 0);
    for round in 0..400_u64 {
        server.bash("true").ok();
        let shells: Vec<u32> = descendants(server.pid())
            .into_iter()
            .filter(|pid| std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name == "bash\n"))
            .collect();
        let killer = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_micros((round * 7919) % 6000));
            for shell in shells {
                let pid = rustix::process::Pid::from_raw(shell.cast_signed()).unwrap();
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        });
        let shown = server.bash("echo begun; /bin/true; echo ended").text();
        killer.join().unwrap();
        match shown.as_str() {
            "exit_code: 0\n\nstdout:\nbegun\nended\n" => whole += 1,
            other => {
                assert!(other.starts_with("exit_code: 137\n") || other.contains("no longer"), "{other}");
                killed += 1;
            }
        }
    }
    assert!(whole > 10 && killed > 10, "{whole} {killed}");
}

/// A short text comes with the word to begin, a longer one in a file.
#[test]
fn texts_of_every_length_and_alphabet_arrive_whole_in_a_waiting_shell() {
    let world = World::new();
    let mut server = world.server(&[]);
    server.bash("true").ok();
    for (length, letter) in
        [(1, "a"), (40, ":"), (100, "p"), (125, "\\"), (126, "r"), (127, " "), (4000, "z"), (20, "é")]
    {
        let word = letter.repeat(length);
        for text in [format!("printf '%s|' '{word}'"), format!("x='{word}'; printf '%s|' \"$x\"")] {
            assert_eq!(server.bash(&text).text(), format!("exit_code: 0\n\nstdout:\n{word}|"), "{text}");
        }
    }
}

/// A shell that has rested wakes up when a call comes, which may then be refused, or find another directory.
#[test]
fn a_shell_that_woke_up_for_nothing_runs_the_next_command() {
    const REST: std::time::Duration = std::time::Duration::from_millis(20);
    let world = World::new();
    let mut server = world.server(&["--deny", "uname", "--unlisted", "allow"]);
    server.bash("mkdir one two; cd one").ok();
    for _ in 0..3 {
        server.bash("true").ok();
        waiting_shell(&server);
        std::thread::sleep(REST);
        assert!(server.bash("uname").is_error(), "it is denied");
        std::thread::sleep(REST);
        assert_eq!(server.bash("echo $?; pwd").stdout(), format!("0\n{}/one\n", world.project().display()));
        std::thread::sleep(REST);
        std::fs::rename(world.project().join("one"), world.project().join("old")).unwrap();
        std::fs::rename(world.project().join("two"), world.project().join("one")).unwrap();
        std::fs::rename(world.project().join("old"), world.project().join("two")).unwrap();
        assert_eq!(server.bash("touch $?-here; ls").stdout(), "0-here\n");
        assert!(!world.project().join("two/0-here").exists(), "the directory of that name now");
        std::fs::remove_file(world.project().join("one/0-here")).unwrap();
    }
}
