//! A command that uses too much is killed, the result says why, and everything else goes on.

use serde_json::json;

use crate::support::{Client, Inside, Level, Pending, Reply, StartOptions, World, descendants, everywhere, until};

#[test]
fn a_fork_bomb_ends_and_the_session_goes_on() {
    everywhere("[sandbox.limits]\nprocesses = 350", &[], |inside| {
        let bomb = json!({ "command": ":(){ :|:& };:; sleep 20", "timeout": 1500 });
        let text = inside.client.call("bash", bomb).ok();
        assert!(text.contains("timed out") || text.contains("sandbox.limits.processes"), "{text}");
        // Another session must still be able to start a keeper and a shell.
        let other = inside.client.call("bash", json!({ "command": "echo alive", "session": "other" }));
        assert_eq!(other.stdout(), "alive\n");
        inside.does("true");
    });
}

#[test]
fn a_memory_hog_ends_with_its_reason() {
    everywhere("[sandbox.limits]\nmemory = \"200MB\"", &[], |inside| {
        let hog = "exec python3 -c 'import time; a = [bytearray(10 << 20) for _ in range(60)]; time.sleep(60)'";
        let reply = inside.bash(hog);
        assert_eq!(reply.field("exit_code").as_deref(), Some("137"), "{}", reply.text());
        assert!(reply.text().contains("sandbox.limits.memory is 200 MB"), "{}", reply.text());
        inside.does("true");
    });
}

#[test]
fn shared_memory_counts_once_however_it_is_held() {
    // Each holds 600 MB in its own way and says so before it waits.
    let tail = "open('held', 'w').close(); time.sleep(60)";
    let fill = "[m.write(bytes(10 << 20)) for _ in range(60)]";
    let hogs = [
        format!("import mmap, time; m = mmap.mmap(-1, 600 << 20); {fill}; {tail}"),
        format!("import os, time; m = os.fdopen(os.memfd_create('x'), 'wb', 0); {fill}; {tail}"),
        format!(
            "import mmap, os, time; f = os.memfd_create('x'); os.ftruncate(f, 600 << 20); \
             m = mmap.mmap(f, 600 << 20); os.close(f); {fill}; os.fork(); {tail}"
        ),
    ];
    everywhere("[sandbox.limits]\nmemory = \"300MB\"", &[], |inside| {
        for hog in &hogs {
            let reply = inside.bash(&format!("python3 -c \"{hog}\""));
            assert!(reply.text().contains("sandbox.limits.memory is 300 MB"), "{hog}\n{}", reply.text());
        }
        // 100 MB that four processes have mapped are 100 MB.
        let shared = "import mmap, os, time; m = mmap.mmap(-1, 100 << 20); [m.write(bytes(1 << 20)) for _ in range(100)]; \
                      [os.fork() for _ in range(2)]; sum(m[::4096]); time.sleep(2)";
        inside.does(&format!("python3 -c \"{shared}\""));
    });
}

#[test]
fn segments_that_nobody_has_attached_are_removed() {
    let mut inside = Inside::new(Level::Full, false, "[sandbox.limits]\nmemory = \"300MB\"", &[]);
    let leave = "import ctypes; c = ctypes.CDLL(None); c.shmat.restype = ctypes.c_void_p; \
                 i = c.shmget(0, 400 << 20, 0o1600); p = c.shmat(i, None, 0); ctypes.memset(p, 1, 200 << 20)";
    // The keeper may look while the second program still has its segment, or after it.
    let mut text = String::new();
    for command in [&format!("python3 -c '{leave}'"), &format!("python3 -c '{leave}'"), "sleep 2; ipcs -m"] {
        text.push_str(&inside.bash(command).text());
    }
    assert!(text.contains("MB) was removed: the session used"), "{text}");
    assert!(text.matches("419430400").count() < 2, "{text}");
}

#[test]
fn the_limits_of_the_watchers_cannot_be_changed() {
    everywhere("", &[], |inside| {
        inside.cannot("prlimit --pid $PPID --nofile=3:3");
        inside.does("ulimit -n 100; prlimit --nofile=50:60 true");
    });
}

#[test]
fn files_in_shared_memory_leave_room_to_remove_them() {
    let mut inside = Inside::new(Level::Full, false, "[sandbox.limits]\nmemory = \"300MB\"", &[]);
    let text = inside.cannot("head -c 600M /dev/zero > /dev/shm/big");
    assert!(text.contains("No space left"), "{text}");
    let hog = "import time; a = [bytearray(10 << 20) for _ in range(20)]; time.sleep(60)";
    let reply = inside.bash(&format!("python3 -c '{hog}'"));
    assert!(reply.text().contains("sandbox.limits.memory is 300 MB"), "{}", reply.text());
    inside.does("sleep 1; rm /dev/shm/big");
}

#[test]
fn memory_is_counted_where_proc_hides_other_processes() {
    let world = World::new();
    let config = world.outside().join("config.toml");
    std::fs::write(&config, "[sandbox]\nlevel = \"landlock\"\n[sandbox.limits]\nmemory = \"200MB\"\n").unwrap();
    let hidden = "mount -t proc -o hidepid=invisible proc /proc && exec \"$0\" \"$@\"";
    let words = ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "sh", "-c", hidden];
    let command = world.command_by(&words, &["--config", config.to_str().unwrap()]);
    let mut server = Client::connect(command, StartOptions::default());
    let hog = "exec python3 -c 'import time; a = [bytearray(10 << 20) for _ in range(60)]; time.sleep(60)'";
    let text = server.bash(hog).ok();
    assert!(text.contains("sandbox.limits.memory is 200 MB"), "{text}");
    let reply = server.bash("sleep 1000 & echo $!");
    assert_eq!(reply.field("background_pids"), Some(reply.stdout().trim().to_owned()));
}

#[test]
fn a_disk_filler_ends_at_the_largest_file() {
    everywhere("[sandbox.limits]\nfile = \"1MB\"", &[], |inside| {
        let reply = inside.bash("head -c 2M /dev/zero > big");
        assert_eq!(reply.field("exit_code").as_deref(), Some("153"), "{}", reply.text());
        assert_eq!(std::fs::metadata(inside.world.project().join("big")).unwrap().len(), 1 << 20);
    });
}

#[test]
fn open_files_are_counted_and_no_core_is_left() {
    let mut inside = Inside::new(Level::Full, false, "[sandbox.limits]\nopen_files = 64", &[]);
    assert_eq!(inside.does("ulimit -n; ulimit -Hn; ulimit -c"), "64\n64\n0\n");
}

#[test]
fn all_sessions_together_have_limits_too() {
    let settings = "[sandbox.limits]\nmemory = \"300MB\"\ntotal_memory = \"400MB\"\ntotal_processes = 100";
    everywhere(settings, &[], |inside| {
        let hog =
            "import time; a = [bytearray(10 << 20) for _ in range(20)]; open('held', 'a').write('x'); time.sleep(60)";
        let start = |inside: &mut Inside, session: &str| {
            inside.client.start("bash", json!({ "command": format!("exec python3 -c \"{hog}\""), "session": session }))
        };
        // Each session is within its own limit, and the third exceeds the total.
        let pending = ["one", "two", "three"].map(|session| start(inside, session));
        let ended = until("one of them to be killed", || pending.iter().find_map(Pending::answered));
        let text = Reply { raw: ended["result"].clone() }.ok();
        assert!(text.starts_with("exit_code: 137\n"), "{text}");
        assert!(text.contains("sandbox.limits.total_memory is 400 MB"), "{text}");
        assert_eq!(inside.client.call("bash", json!({ "command": "echo here", "session": "four" })).stdout(), "here\n");
        let many = "for i in $(seq 60); do sleep 1000 & done; wait";
        let pending =
            ["five", "six"].map(|session| inside.client.start("bash", json!({ "command": many, "session": session })));
        let ended = until("one of them to be killed", || pending.iter().find_map(Pending::answered));
        let text = Reply { raw: ended["result"].clone() }.ok();
        assert!(text.contains("sandbox.limits.total_processes is 100"), "{text}");
    });
}

#[test]
fn a_command_that_fills_the_temporary_directory_is_killed() {
    everywhere("[sandbox.limits]\ndisk = \"100MB\"", &[], |inside| {
        let fill = "for i in $(seq 1000); do head -c 20M /dev/zero >> $TMPDIR/full; sleep 0.2; done";
        let text = inside.bash(fill).ok();
        assert!(text.contains("sandbox.limits.disk is 100 MB; remove files from $TMPDIR"), "{text}");
        inside.does("sleep 2.5; rm $TMPDIR/full; sleep 1.5; echo > $TMPDIR/small");
    });
}

/// CPU time in nanoseconds that a process has used, and how often it has gone to sleep.
fn effort(pid: u32) -> (u64, u64) {
    let read = |name: &str| std::fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap();
    let status = read("status");
    let waits = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:")).unwrap();
    (read("schedstat").split(' ').next().unwrap().parse().unwrap(), waits.trim().parse().unwrap())
}

#[test]
fn a_keeper_does_not_look_at_processes_of_others() {
    let mut inside = Inside::new(Level::Landlock, false, "", &[]);
    inside.client.call("bash", json!({ "command": "sleep 1000", "run_in_background": true })).ok();
    let named = |pid: &u32| {
        std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "testudo-keeper")
    };
    let keeper = descendants(inside.client.pid()).into_iter().find(named).unwrap();
    // The CPU time of one check, over a few of them.
    let per_check = || {
        let (time, waits) = effort(keeper);
        let (later, checks) = until("a few checks", || Some(effort(keeper)).filter(|(_, now)| *now >= waits + 4));
        (later - time) / (checks - waits)
    };
    per_check();
    let alone = per_check();
    let mut strangers: Vec<_> =
        (0..500).map(|_| std::process::Command::new("sleep").arg("1000").spawn().unwrap()).collect();
    let in_a_crowd = per_check();
    strangers.iter_mut().for_each(|stranger| stranger.kill().unwrap());
    strangers.iter_mut().for_each(|stranger| assert!(!stranger.wait().unwrap().success()));
    assert!(in_a_crowd < alone * 4, "{in_a_crowd} ns among 500 others, {alone} ns alone");
}
