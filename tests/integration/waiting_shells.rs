//! What happens to a shell while it waits does not show in the next command.

use serde_json::json;

use crate::support::{World, everywhere, until, waiting_shells};

/// Shells that wait are a command's to stop, but the next command is not stopped before it begins.
#[test]
fn a_shell_that_was_stopped_while_it_waits_runs_its_command() {
    everywhere("", &[], |inside| {
        for text in ["true", "ls /", "cd /", "x=1; echo $x"] {
            inside.client.bash("true").ok();
            let shells =
                until("a shell that waits", || Some(waiting_shells(inside.client.pid())).filter(|all| !all.is_empty()));
            let stop =
                format!("import os; [os.kill(pid, 19) for pid in [{}] if pid != os.getppid()]", shells.join(", "));
            // A text with stdin has a new shell, so those that wait can be stopped.
            let arguments = json!({ "command": format!("python3 -c '{stop}'"), "stdin": "" });
            inside.client.call("bash", arguments).ok();
            inside.client.bash(text).ok();
            assert_eq!(inside.client.bash("echo next").stdout(), "next\n", "{text}");
        }
    });
}

/// What a program writes into the pipe of its shell is no text of the agent.
#[test]
fn a_program_that_writes_into_the_pipe_of_its_shell_runs_nothing() {
    everywhere("", &[], |inside| {
        for (text, length) in [("echo INJECTED;", 128), ("echo INJECTED;", 14), ("=00000000", 9)] {
            let write = format!(
                "import os\nfor n in os.listdir(f\"/proc/{{os.getppid()}}/fd\"):\n  try:\n    if int(n) > 2: os.write(os.open(f\"/proc/{{os.getppid()}}/fd/{{n}}\", 2049), \"{text}\".ljust({length}).encode())\n  except OSError: pass"
            );
            let shown = inside.client.bash(&format!("python3 -c '{write}'")).text();
            assert!(shown.starts_with("exit_code: 0\n") && !shown.contains("INJECTED"), "{shown}");
            for _ in 0..2 {
                assert_eq!(inside.client.bash("echo ok").text(), "exit_code: 0\n\nstdout:\nok\n", "{text}");
            }
        }
    });
}

#[test]
fn a_shell_sees_where_programs_are_and_the_seconds_as_a_new_one() {
    let world = World::new();
    let mut server = world.server(&[]);
    server.bash("mkdir -p a b; printf '#!/bin/sh\n' >b/foo; chmod +x b/foo; export PATH=$PWD/a:$PWD/b:$PATH").ok();
    server.bash("true").ok();
    for _ in 0..4 {
        server.bash("foo").ok();
        let foo = world.project().join("b/foo");
        assert_eq!(server.bash("type foo").stdout(), format!("foo is {}\n", foo.display()));
    }
    server.bash("export SECONDS=500").ok();
    for _ in 0..3 {
        let shown = server.bash("echo $SECONDS").stdout();
        assert!(shown.starts_with("50"), "{shown}");
    }
    // The message of bash has the text, and nothing of how it came.
    assert!(server.bash("true;;").text().contains("`true;;'"), "{}", server.bash("true;;").text());
}
