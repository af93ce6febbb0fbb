//! Traps of a command, beside our own.

use std::os::unix::process::ExitStatusExt;

use crate::support::World;

/// Our own EXIT trap is in no way of the command's traps.
#[test]
fn traps_are_those_of_any_bash() {
    let world = World::new();
    let mut server = world.server(&[]);
    for command in [
        "trap 'echo caught; exit 5' INT; echo hi",
        "trap 'echo caught; exit 5' INT; kill -INT $$; echo not here",
        "trap 'echo caught; exit 5' INT TERM EXIT; echo hi",
        "trap 'echo 0 ' TERM; echo hi",
        "trap 'echo bye' EXIT; trap - EXIT INT; echo hi",
        "trap '' INT; trap - INT EXIT; kill -INT $$; echo not here",
        "trap '' EXIT INT; kill -INT $$; echo hi",
        "trap 'echo bye' 0; trap 0; echo hi",
        "trap 'echo bye' exit; exit 3",
        "trap 'echo bye $?; exit 4' EXIT; exit 3",
        "set -u; trap; trap -- 'echo bye' EXIT; trap -p EXIT; trap",
        "old=$(trap -p EXIT); trap 'echo new' EXIT; eval \"${old:-trap - EXIT}\"; echo hi",
        "trap 'echo old' EXIT; old=$(trap -p EXIT); trap 'echo new' EXIT; eval \"$old\"; echo hi",
        "trap 'echo bye' NONE EXIT 2>/dev/null; echo $?",
        "(trap 'echo inner' EXIT); trap 'echo outer' EXIT",
        "IFS=; trap 'echo bye' INT EXIT; trap 'echo never' USR1",
    ] {
        let plain = std::process::Command::new("/bin/bash").args(["-c", command]).output().unwrap();
        let code = plain.status.code().unwrap_or_else(|| 128 + plain.status.signal().unwrap());
        let streams = String::from_utf8(plain.stdout).unwrap();
        for _ in 0..2 {
            let reply = server.bash(command);
            assert!(reply.text().starts_with(&format!("exit_code: {code}\n")), "{command}: {}", reply.text());
            assert_eq!(reply.stdout(), streams, "{command}");
        }
    }
}
