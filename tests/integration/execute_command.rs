//! `execute_command`: words without a shell, a result in YAML, `ALLOWED_COMMANDS` and `ALLOWED_CWD_ROOTS`.

use serde_json::json;

use crate::support::{Client, StartOptions, World, text};

fn server(world: &World, allowed: &str, roots: Option<String>) -> Client {
    let mut command = world.command(&["--toolset", "terminal"]);
    command.env("ALLOWED_COMMANDS", allowed);
    if let Some(roots) = roots {
        command.env("ALLOWED_CWD_ROOTS", roots);
    }
    Client::connect(command, StartOptions::default())
}

#[test]
fn words_are_arguments_and_the_result_is_yaml_of_strings() {
    let world = World::new();
    let mut server = server(&world, "*", None);
    let run = |server: &mut Client, command: &str| server.call("execute_command", json!({ "command": command })).ok();
    assert_eq!(run(&mut server, "echo 42"), "exit_code: 0\nstdout: |\n  42\nstderr: \"\"\n");
    assert!(run(&mut server, "printf true").contains("stdout: \"true\"\n"));
    assert!(run(&mut server, "printf null").contains("stdout: \"null\"\n"));
    assert!(run(&mut server, "printf '%s|' a '&&' \"b c\" d\\ e '$HOME' '*'").contains("a|&&|b c|d e|$HOME|*|"));
    assert!(run(&mut server, "sh -c 'echo err >&2; exit 3'").starts_with("exit_code: 3\n"));
}

#[test]
fn every_error_begins_with_the_same_words() {
    let world = World::new();
    std::fs::write(world.project().join("file"), "").unwrap();
    let mut server = server(&world, "ls,pwd,no-such-program,sleep", Some(text(&world.project())));
    let rows = [
        (
            json!({"command": "cat x"}),
            "Error executing command: Command \"cat\" is not allowed, allowed commands: ls,pwd,no-such-program,sleep",
        ),
        (json!({"command": "cat x", "cwd": "missing"}), "Error executing command: Command \"cat\" is not allowed"),
        (json!({"command": "pwd", "cwd": "missing"}), "Error executing command: cwd does not exist: missing"),
        (json!({"command": "pwd", "cwd": "file"}), "Error executing command: cwd is not a directory: file"),
        (json!({"command": "pwd", "cwd": "/"}), "Error executing command: cwd is not allowed by ALLOWED_CWD_ROOTS"),
        (json!({"command": "ls 'x"}), "Error executing command: "),
        (json!({"command": ""}), "Error executing command: "),
        (
            json!({"command": "no-such-program"}),
            "Error executing command: spawn no-such-program ENOENT\nNote: This tool does not support interactive commands. Ensure the command is non-interactive and the executable exists.",
        ),
    ];
    for (arguments, want) in rows {
        let got = server.call("execute_command", arguments).err();
        assert!(got.starts_with(want), "{got}");
    }
    let late = server.call("execute_command", json!({"command": "sleep 100", "timeout_ms": 50})).err();
    assert!(late.starts_with("exit_code: 124\n") && late.contains("Timed out after 50ms."), "{late}");
}
