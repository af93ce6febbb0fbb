//! Tries to break every promise of the sandbox from inside: at both levels, as root and as an ordinary user.

use crate::support::{Inside, Level, World, everywhere, text, until};

#[test]
fn the_scope_can_be_written_and_nothing_else() {
    everywhere("", &[], |inside| {
        let (outside, file) = (text(&inside.world.outside()), text(&inside.outside_file("f", "before")));
        inside.does("mkdir -p a/b && echo x > a/b/c && mv a/b/c a/d && ln a/d a/e && rm -r a");
        inside.cannot(&format!("echo x > {file}"));
        inside.cannot(&format!("echo x > {outside}/new"));
        inside.cannot(&format!("cd {outside} && echo x > new"));
        inside.cannot(&format!("ln -s {outside} way && echo x > way/new"));
        inside.cannot(&format!("rm {file}"));
        inside.cannot(&format!("mv {file} here"));
        inside.cannot(&format!("mv way {outside}/"));
        inside.cannot("echo x > /usr/new");
        if inside.level == Level::Full {
            inside.does("echo x > ~/new");
        } else {
            inside.cannot("echo x > ~/new");
        }
        assert!(!inside.world.home().join("new").exists());
        inside.does(&format!("cat {file}"));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "before");
    });
}

#[test]
fn what_landlock_cannot_see_the_mounts_still_stop() {
    for nobody in [false, true] {
        let mut inside = Inside::new(Level::Full, nobody, "", &[]);
        let file = text(&inside.outside_file("f", "before"));
        inside.cannot(&format!("chmod 777 {file}"));
        inside.cannot(&format!("touch -d 2000-01-01 {file}"));
        inside.cannot(&format!("python3 -c 'import os; os.setxattr(\"{file}\", \"user.x\", b\"1\")'"));
        inside.cannot(&format!("chown 1 {file}"));
    }
}

#[test]
fn secrets_cannot_be_read() {
    everywhere("", &[], |inside| {
        let names = [
            ".ssh/id_ed25519",
            ".aws/credentials",
            ".netrc",
            ".config/gh/hosts.yml",
            ".cargo/credentials.toml",
            ".bash_history",
            ".docker/config.json",
            ".local/state/testudo/audit.jsonl",
        ];
        let paths = names.map(|name| text(&inside.home_file(name, "canary")));
        let neighbour = text(&inside.home_file(".config/git/ignore", "harmless"));
        let link = inside.world.project().join("link");
        std::os::unix::fs::symlink(&paths[0], &link).unwrap();
        for path in &paths {
            let reply = inside.bash(&format!("cat {path}; ln {path} h; cat h; cat /proc/self/root{path}; cat link"));
            assert!(!reply.text().contains("canary"), "{path}: {}", reply.text());
        }
        assert_eq!(inside.does(&format!("cat {neighbour}")), "harmless");
        let config = text(&inside.world.outside().join("config.toml"));
        assert!(!inside.bash(&format!("cat {config}")).text().contains("[sandbox]"), "our own configuration");
        let shadow = inside.bash("cat /etc/shadow /proc/1/root/etc/shadow").text();
        assert!(!shadow.contains("root:"), "{shadow}");
        if inside.level == Level::Full {
            assert!(!inside.bash("ls -A ~/.ssh ~/.aws").text().contains("id_ed25519"), "not even their names");
        }
    });
}

#[test]
fn other_processes_are_out_of_reach() {
    everywhere("", &[], |inside| {
        let server = inside.client.pid();
        inside.cannot(&format!("kill -0 {server}"));
        inside.cannot(&format!("kill -9 {server}"));
        inside.cannot(&format!("cat /proc/{server}/environ"));
        inside.cannot(&format!("ls /proc/{server}/root/"));
        inside.cannot(&format!("head -c1 /proc/{server}/mem"));
        if inside.level == Level::Full {
            inside.cannot(&format!("test -e /proc/{server}"));
            inside.does("kill -9 1; kill -STOP 1; true");
            inside.cannot("head -c1 /proc/1/mem");
        }
        // A command can kill its own reaper. The call then fails with a clear error, and the session goes on.
        inside.bash("kill -9 $PPID; sleep 5").err();
        inside.does("true");
    });
}

#[test]
fn a_pid_of_one_call_can_be_signalled_in_the_next() {
    everywhere("", &[], |inside| {
        let reply = inside.bash("sleep 1000 & echo $!");
        let pid = reply.stdout().trim().to_owned();
        assert_eq!(reply.field("background_pids"), Some(pid.clone()));
        inside.does(&format!("kill {pid}"));
    });
}

#[test]
fn no_devices_no_privileges() {
    everywhere("", &[], |inside| {
        inside.cannot("mknod d c 1 5");
        inside.cannot("mknod $TMPDIR/d b 8 0");
        inside.does("grep -q 'NoNewPrivs:.*1' /proc/self/status");
        let kept = if inside.as_root() { "00000000000000fb" } else { "0000000000000000" };
        assert_eq!(inside.does("awk '/CapEff/ {print $2}' /proc/self/status").trim(), kept);
        inside.cannot("echo 1 > /proc/sys/kernel/printk");
        inside.cannot("echo b > /proc/sysrq-trigger");
        inside.cannot("echo x > /sys/kernel/uevent_helper");
        inside.cannot("mount -t tmpfs none /mnt");
        inside.cannot("unshare -r true");
        if inside.level == Level::Full {
            assert_eq!(inside.does("find /dev -type b | wc -l").trim(), "0");
        }
        inside.does("echo x > /dev/null && head -c1 /dev/urandom | wc -c");
    });
}

#[test]
#[cfg(target_arch = "x86_64")]
fn system_calls_that_lead_out_are_refused() {
    // The number and the arguments of each call. Each must fail with EPERM, not with another error.
    let calls = "425,1,0 426,0,0 427,0,0 101,16,1 310,1,0 311,1,0 438,0,0 312,1,1 321,0,0 298,0,0 323,0,0 103,3,0 \
                 175,0,0 313,0,0 176,0,0 246,0,0 320,0,0 248,0,0 249,0,0 250,0,0 165,0,0 166,0,0 155,0,0 161,0,0 \
                 429,0,0 428,0,0 467,0,0 430,0,0 431,0,0 432,0,0 433,0,0 442,0,0 308,0,0 304,0,0 272,0x10000000,0 \
                 272,0x20000,0 56,0x10000011,0 16,0,0x5412 16,0,0x541c 41,40,1 41,38,5";
    let script = format!(
        r#"python3 - <<'E'
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
bad = []
for call in """{calls}""".split():
    words = [int(word, 0) for word in call.split(",")]
    result = libc.syscall(*words, 0, 0, 0)
    if not (result == -1 and ctypes.get_errno() == errno.EPERM):
        bad.append((call, result, ctypes.get_errno()))
# clone3, the x32 numbers and calls that are newer than the filter must not exist.
for call in [435, 0x40000000 | 101, 0x40000000 | 39, 470, 500, 4000, 0x7fffffff]:
    result = libc.syscall(call, 0, 0, 0)
    if not (result == -1 and ctypes.get_errno() == errno.ENOSYS):
        bad.append((call, result, ctypes.get_errno()))
print(bad)
E"#
    );
    everywhere("", &[], |inside| assert_eq!(inside.does(&script), "[]\n"));
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_call_for_another_architecture_ends_the_process() {
    everywhere("", &[], |inside| {
        // Calls getpid through the 32-bit entry.
        let source = "int main(void){int r;__asm__ volatile(\"int $0x80\":\"=a\"(r):\"a\"(20));return r<0;}";
        inside.does(&format!("echo '{source}' > x.c && gcc x.c -o x"));
        assert_eq!(inside.bash("exec ./x").field("exit_code").as_deref(), Some("159"), "128 + SIGSYS");
    });
}

#[test]
fn no_descriptor_is_inherited() {
    everywhere("", &[], |inside| {
        let open = inside.does("ls /proc/self/fd | sort -n | tr '\\n' ' '");
        // 3 is the directory that `ls` lists. 251 is the pipe on which the shell reports its state.
        assert!(["0 1 2 3 251 ", "0 1 2 3 "].contains(&open.as_str()), "{open}");
        inside.cannot("cat <&9");
    });
}

#[test]
fn without_a_network_nothing_gets_out() {
    let probe = r#"python3 - <<'E'
import socket
for family, address in [("AF_INET", "192.0.2.1"), ("AF_INET6", "2001:db8::1"), ("AF_PACKET", ""), ("AF_VSOCK", "")]:
    for kind in [socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW]:
        try:
            # At level full there is a network, in which nothing but the session's own loopback interface is.
            socket.socket(getattr(socket, family), kind).connect((address, 9))
            print(family, kind, "open")
        except OSError as error:
            assert error.errno in (1, 93, 94, 97, 99, 101), error
a, b = socket.socketpair()
a.send(b"x")
assert b.recv(1) == b"x"
E"#;
    everywhere("", &["--network", "off"], |inside| {
        assert_eq!(inside.does(probe), "");
        inside.cannot("getent hosts example.com");
    });
}

#[test]
fn a_loopback_of_its_own_is_not_the_hosts() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let own = "python3 -c 'import socket; s = socket.create_server((\"127.0.0.1\", 0)); socket.create_connection(s.getsockname())'";
    for nobody in [false, true] {
        let mut inside = Inside::new(Level::Full, nobody, "", &["--network", "off"]);
        inside.does(own);
        inside.cannot(&format!("python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}), 1)'"));
    }
}

#[test]
fn below_the_minimum_commands_are_refused() {
    let world = World::new();
    let config = world.outside().join("config.toml");
    std::fs::write(&config, "[sandbox]\nlevel = \"landlock\"\nminimum = \"full\"\n").unwrap();
    let mut server = world.server(&["--config", config.to_str().unwrap()]);
    let refused = server.bash("touch ran").err();
    assert!(refused.contains("sandbox.minimum") && refused.contains("doctor"), "{refused}");
    assert!(!world.project().join("ran").exists());
}

#[test]
fn where_namespaces_are_refused_the_level_is_landlock_and_said() {
    let world = World::new();
    // As in many containers: no user namespace can be created inside this one.
    let refuse = "echo 0 > /proc/sys/user/max_user_namespaces; exec \"$0\" \"$@\"";
    let command = world.command_by(&["unshare", "-Ur", "--", "sh", "-c", refuse], &[]);
    let mut server = crate::support::Client::connect(command, crate::support::StartOptions::default());
    let hello = server.hello["instructions"].as_str().unwrap().to_owned();
    assert!(hello.contains("level landlock"), "{hello}\n{}", server.log());
    until("the warning", || server.log().contains("weaker").then_some(()));
    assert_eq!(server.bash("echo x > here; echo x > /usr/there").field("exit_code").as_deref(), Some("1"));
}

#[test]
fn a_denial_is_explained_in_one_line() {
    everywhere("", &["--network", "off"], |inside| {
        let outside = text(&inside.world.outside());
        let secret = text(&inside.home_file(".ssh/id", "canary"));
        let denied = inside.bash(&format!("echo x > {outside}/new")).ok();
        assert!(denied.contains(&format!("[sandbox: {outside}/new is outside what commands can write")), "{denied}");
        let secret = inside.bash(&format!("cat {secret} && false")).ok();
        // Root can read the empty file that hides the secret, so there is no denial to explain.
        let reads_empty_file = inside.as_root() && inside.level == Level::Full;
        assert!(reads_empty_file || secret.contains("holds credentials"), "{secret}");
        let lookup = inside.bash("python3 -c 'import socket; socket.create_connection((\"example.com\", 80))'").ok();
        assert!(lookup.contains("[sandbox: the network is off"), "{lookup}");
        assert!(!inside.bash("ls /does-not-exist").ok().contains("[sandbox"), "nothing is guessed");
    });
}

#[test]
fn a_secret_that_comes_later_is_hidden_too() {
    everywhere("", &[], |inside| {
        inside.does("true");
        let secret = text(&inside.home_file(".aws/credentials", "canary"));
        until("the secret to be hidden", || {
            (!inside.bash(&format!("cat {secret}")).text().contains("canary")).then_some(())
        });
    });
}
