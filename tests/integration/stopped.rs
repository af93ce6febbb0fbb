//! A command stops the processes that watch it, or somebody stops the server: calls are answered all the same.

use serde_json::json;

use crate::support::{Client, World, everywhere, nap, until, with_word};

#[test]
fn a_command_that_stops_its_reaper_changes_nothing() {
    everywhere("", &[], |inside| {
        let reply = inside.bash("kill -STOP $PPID; kill -TSTP $PPID; echo begun; sleep 0.3; cd /; echo done");
        assert_eq!((reply.stdout().as_str(), reply.field("cwd").as_deref()), ("begun\ndone\n", Some("/")));
        // At level `landlock` it can stop the keeper too.
        let keeper = "kill -STOP $(cut -d' ' -f4 /proc/$PPID/stat) 2>/dev/null; sleep 0.3; echo done";
        assert_eq!(inside.bash(keeper).stdout(), "done\n");
        assert_eq!(inside.does("echo here"), "here\n");
    });
}

#[test]
fn a_command_that_keeps_stopping_its_watchers_is_ended() {
    everywhere("", &[], |inside| {
        let word = nap();
        let forever = format!(
            "keeper=$(cut -d' ' -f4 /proc/$PPID/stat); sleep {word} & \
             while :; do kill -STOP $PPID $keeper 2>/dev/null; done"
        );
        let text = inside.client.call("bash", json!({ "command": forever, "timeout": 2000 })).text();
        assert!(
            ["again and again", "timed out", "has died", "that watched this command was killed"]
                .iter()
                .any(|words| text.contains(words)),
            "{text}"
        );
        until("its tree to end", || with_word(&word).is_empty().then_some(()));
        assert_eq!(inside.does("echo here"), "here\n");
    });
}

fn signal(server: &Client, signal: &str) {
    let status = std::process::Command::new("kill").args([signal, &server.pid().to_string()]).status().unwrap();
    assert!(status.success());
}

#[test]
fn a_command_that_ended_while_the_server_was_stopped_has_not_timed_out() {
    let world = World::new();
    for (tool, arguments) in [
        (
            "bash",
            json!({"command": "echo begun > begun; until [ -e go ]; do sleep 0.01; done; echo whole; echo > ended", "timeout": 3000}),
        ),
        (
            "run_shell_command",
            json!({"command": "echo begun > begun; until [ -e go ]; do sleep 0.01; done; echo whole; echo > ended"}),
        ),
    ] {
        let mut server = world.server(&["--toolset", "all", "--timeout", "3"]);
        let pending = server.start(tool, arguments);
        until("it to begin", || world.project().join("begun").exists().then_some(()));
        signal(&server, "-STOP");
        world.file("go", "");
        until("it to end", || world.project().join("ended").exists().then_some(()));
        // The timeout passes while the server is stopped.
        std::thread::sleep(std::time::Duration::from_secs(4));
        signal(&server, "-CONT");
        let text = pending.reply().ok();
        assert!(text.contains("whole") && !text.contains("timed out"), "{text}");
        for name in ["begun", "go", "ended"] {
            std::fs::remove_file(world.project().join(name)).unwrap();
        }
    }
}
