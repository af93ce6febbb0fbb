//! Published attacks against comparable tools, run as commands. They may run, but must have no effect outside the sandbox.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{Level, corpus, everywhere, text, until, with_word};

/// Further attacks. `$OUTSIDE` is a directory outside the scope with a file `f`; `~/.ssh/id_ed25519` contains a canary.
const MORE: &[&str] = &[
    "echo x > $OUTSIDE/new",
    "ln -s ~/.ssh/id_ed25519 l && cat l",
    "cat /proc/self/root$HOME/.ssh/id_ed25519",
    "python3 -c \"import socket;socket.create_connection(('192.0.2.1',80),1)\"",
    "python3 -c \"import socket;socket.socket(socket.AF_INET,socket.SOCK_DGRAM).sendto(b'x',('192.0.2.1',53))\"",
    "cd $OUTSIDE && rm -f f && mkdir new",
    "mount --bind / $PWD",
    "unshare -Ur sh -c 'echo x > $OUTSIDE/f'",
    "chroot / sh -c 'echo x > $OUTSIDE/f'",
    "cp /bin/sh s && chmod u+s s && ./s -p -c 'echo x > $OUTSIDE/f'",
    "tar cf - ~/.ssh 2>/dev/null | tr -d '\\0'",
    "find / -xdev -name id_ed25519 -exec cat {} + 2>/dev/null",
    "cat /proc/self/environ",
    "chmod 777 $OUTSIDE/f; chown 1 $OUTSIDE/f; truncate -s0 $OUTSIDE/f",
];

/// The published attacks that the sandbox has to stop. The fork bomb has a test of its own, with lower limits. Three cases
/// need a proxy with a list of domains, which testudo does not have.
fn published() -> Vec<String> {
    let ours = |row: &Value| ["sandbox", "resource", "secrets"].iter().any(|class| row["class"] == *class);
    let elsewhere = |row: &Value| row["policy_setup"]["network"] == "proxy" || row["id"] == "resource-01";
    corpus().filter(|row| ours(row) && !elsewhere(row)).map(|row| row["input"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn attacks_have_no_effect_outside() {
    everywhere("", &["--network", "off"], |inside| {
        // Other tests have files of that name too, with other contents.
        let canary = format!("canary of {}", std::process::id());
        inside.home_file(".ssh/id_ed25519", &canary);
        inside.outside_file("f", "before");
        let (outside, home) = (text(&inside.world.outside()), text(&inside.world.home()));
        let nap = crate::support::nap();
        let before = listing(&inside.world.outside(), inside.level);
        let published = published();
        assert!(published.len() >= 25, "{}", published.len());
        for attack in published.iter().map(String::as_str).chain(MORE.iter().copied()) {
            let attack = attack.replace("sleep 1000", &format!("sleep {nap}"));
            let command = format!("export OUTSIDE={outside}; {attack}");
            let reply = inside.client.call("bash", json!({ "command": command, "timeout": 2000 }));
            assert!(!reply.text().contains(&canary), "{attack}: {}", reply.text());
            assert!(!reply.text().lines().any(|line| line.starts_with("root:")), "{attack}: {}", reply.text());
        }
        assert_eq!(listing(&inside.world.outside(), inside.level), before, "level {:?}", inside.level);
        assert!(Path::new(&home).join(".ssh/id_ed25519").exists());
        inside.client.hang_up();
        inside.client.wait_for_exit();
        until("orphans to end with their session", || with_word(&nap).is_empty().then_some(()));
    });
}

/// Every file of a directory with its content. At level `full`, where mounts protect them, also its mode, owner and times.
fn listing(directory: &Path, level: Level) -> BTreeMap<String, String> {
    let described = |path: PathBuf| {
        let metadata = path.metadata().unwrap();
        let content = std::fs::read_to_string(&path).unwrap_or_default();
        let about = (metadata.mode(), metadata.uid(), metadata.mtime(), metadata.ctime_nsec());
        (text(&path), if level == Level::Full { format!("{content} {about:?}") } else { content })
    };
    std::fs::read_dir(directory).unwrap().flatten().map(|entry| described(entry.path())).collect()
}
