//! Without bash the server uses `/bin/sh`, and keeps cwd, variables and exit status as it does with bash.

use serde_json::json;

use crate::support::{Client, StartOptions, World, text};

/// A server in a mount namespace in which `/bin/bash` cannot be executed.
fn server_without_bash(world: &World) -> Client {
    let program = env!("CARGO_BIN_EXE_testudo");
    let script = format!("mount --bind /dev/null \"$(realpath /bin/bash)\" && exec '{program}'");
    let mut command = std::process::Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]);
    command.current_dir(world.project()).env("HOME", world.home());
    Client::connect(command, StartOptions::default())
}

#[test]
fn sh_takes_over_and_keeps_cwd_variables_and_status() {
    let world = World::new();
    std::fs::create_dir(world.project().join("sub")).unwrap();
    let mut server = server_without_bash(&world);
    assert_eq!(server.bash("echo hello").ok(), "exit_code: 0\n\nstdout:\nhello\n");
    let moved = server.bash("cd sub; export V=\"it's \\\"odd\\\"\n$HOME\"; exit 3 # note");
    assert_eq!(moved.ok(), format!("exit_code: 3\ncwd: {}/sub\n", text(&world.project())));
    let kept = server.bash("echo \"${PWD##*/} [$V]\"").stdout();
    assert_eq!(kept, format!("sub [it's \"odd\"\n{}]\n", text(&world.home())));
    assert_eq!(server.bash("cat <<E\nx\nE").stdout(), "x\n");
    let long = format!("x='{}'; echo ${{#x}}", "y".repeat(200_000));
    assert_eq!(server.call("bash", json!({"command": long})).stdout(), "200000\n");
}
