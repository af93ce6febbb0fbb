//! Unix sockets of programs outside cannot be reached, whatever way the socket came to be and whatever name is tried. What
//! counts is whether the program outside saw somebody.

use std::os::unix::fs::symlink;

use crate::support::{Inside, Level, Listeners, everywhere, text};

/// Tries every way to every socket in the directory that is the first argument, and prints the ways that succeeded. The
/// others are prefixes of the names.
pub const ATTACK: &str = r#"
import os, socket, sys
outside, prefixes = sys.argv[1], sys.argv[2:]
# Before the attempts: links, and a hard link if that is possible.
def quietly(act, *words):
    try:
        act(*words)
    except OSError:
        pass
quietly(os.symlink, outside, "way")
quietly(os.symlink, "/proc/self/root" + outside, "long-way")
for prefix in prefixes:
    quietly(os.symlink, outside + "/" + prefix + "absolute.sock", prefix + "link.sock")
    quietly(os.link, outside + "/" + prefix + "absolute.sock", prefix + "hard.sock")
    quietly(os.rename, outside + "/" + prefix + "absolute.sock", prefix + "moved.sock")
directory = os.open(outside, os.O_PATH)
ways = []
for prefix in prefixes:
    for name in ["absolute", "relative", "renamed", "one", "linked", "packets", "datagrams"]:
        path = outside + "/" + prefix + name + ".sock"
        # Every kind of socket, and every call that takes a name.
        ways += [(call, kind, pair, path) for call in ["connect", "sendto", "sendmsg"] for kind in [1, 2, 3, 5]
                 for pair in [False, True]]
    # Every spelling of a path.
    for name in ["absolute", "renamed"]:
        path, short = outside + "/" + prefix + name + ".sock", prefix + name + ".sock"
        spellings = ["way/" + short, "long-way/" + short, os.path.relpath(path), "/proc/self/root" + path]
        spellings += ["/proc/thread-self/root" + path, "/proc/1/root" + path, "/proc/%d/root%s" % (os.getppid(), path)]
        spellings += ["/proc/self/fd/%d/%s" % (directory, short), "/dev/fd/%d/%s" % (directory, short)]
        spellings += ["/proc/self/cwd/way/" + short, "/proc/%d/cwd/way/%s" % (os.getpid(), short)]
        ways += [("connect", 1, False, spelling) for spelling in spellings]
    names = [prefix + "link.sock", prefix + "hard.sock", prefix + "moved.sock"]
    names += ["\0" + prefix + str(uid) + outside for uid in [0, os.getuid()]]
    ways += [("connect", 1, False, name) for name in names]
for call, kind, pair, name in ways:
    try:
        with (socket.socketpair(socket.AF_UNIX, kind)[0] if pair else socket.socket(socket.AF_UNIX, kind)) as sock:
            if call == "connect":
                sock.connect(name)
                print(call, kind, pair, repr(name))
            elif call == "sendto":
                sock.sendto(b"x", name)
            else:
                sock.sendmsg([b"x"], [], 0, name)
    except OSError:
        pass
os.chdir(outside)
for prefix in prefixes:
    for name in ["absolute", "relative", "renamed", "linked"]:
        try:
            socket.socket(socket.AF_UNIX).connect(prefix + name + ".sock")
            print("from its directory", name)
        except OSError:
            pass
"#;

#[test]
fn other_programs_sockets_are_unreachable_however_they_came_to_be() {
    for arguments in [&[][..], &["--network", "off"]] {
        everywhere("", arguments, |inside| {
            let outside = inside.world.outside();
            let _before = Listeners::start(&outside, "a-", &[]);
            inside.does("true");
            let _later = Listeners::start(&outside, "b-", &[]);
            let root = rustix::process::getuid().is_root();
            let elsewhere = Listeners::start(&outside, "c-", &["unshare", if root { "-n" } else { "-Urn" }]);
            inside.world.file("attack.py", ATTACK);
            let found = inside.does(&format!("python3 attack.py {} a- b- c-", text(&outside)));
            assert_eq!((found.as_str(), elsewhere.reached().as_str()), ("", ""));
        });
    }
}

/// Commands may write tool caches, but they are not the project's: the person's own programs use them too.
#[test]
fn a_socket_in_the_home_or_in_a_tool_cache_is_outside() {
    everywhere("", &[], |inside| {
        let cache = inside.home_file(".cargo/registry/x", "");
        let home = inside.world.home();
        for directory in [cache.parent().unwrap(), &home] {
            let listeners = Listeners::start(directory, "", &[]);
            inside.world.file("attack.py", ATTACK);
            let found = inside.does(&format!("python3 attack.py {} ''; rm -f way long-way *.sock", text(directory)));
            assert_eq!((found.as_str(), listeners.reached().as_str()), ("", ""));
        }
    });
}

#[test]
fn in_mode_read_only_no_socket_of_the_project_is_reachable() {
    everywhere("mode = \"read-only\"", &[], |inside| {
        let listeners = Listeners::start(&inside.world.project(), "", &[]);
        let connect = "python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"absolute.sock\")'";
        let shown = inside.cannot(connect);
        assert!(shown.contains("absolute.sock is outside the temporary directory, so commands cannot"), "{shown}");
        assert_eq!(listeners.reached(), "");
    });
}

/// Changes what the path means while it is being connected to: the text of the path, a link, or the descriptor.
pub const RACE: &str = r#"
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
static struct sockaddr_un inside, outside;
static union { struct sockaddr_un un; struct sockaddr_in in; } tried;
static struct sockaddr_in network;
static int mode, stop, number = 100;
static void *swap(void *_) {
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        if (mode == 0) {
            memcpy(&tried, &outside, sizeof outside);
            memcpy(&tried, &inside, sizeof inside);
        } else if (mode == 1) {
            symlink(outside.sun_path, "l1"); rename("l1", "link");
            symlink(inside.sun_path, "l2"); rename("l2", "link");
        } else {
            int un = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0), in = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
            memcpy(&tried, &network, sizeof network); dup2(in, number);
            memcpy(&tried, &outside, sizeof outside); dup2(un, number);
            close(un); close(in);
        }
    }
    return 0;
}
int main(int count, char **words) {
    mode = atoi(words[1]);
    int tries = atoi(words[2]);
    outside.sun_family = inside.sun_family = AF_UNIX;
    strcpy(outside.sun_path, words[3]);
    strcpy(inside.sun_path, "own.sock");
    network.sin_family = AF_INET; network.sin_port = htons(atoi(words[4])); inet_aton("127.0.0.1", &network.sin_addr);
    unlink("own.sock");
    int own = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (bind(own, (void *)&inside, sizeof inside) || listen(own, 4096)) return 1;
    if (mode == 1) { tried.un.sun_family = AF_UNIX; strcpy(tried.un.sun_path, "link"); symlink("own.sock", "link"); }
    pthread_t thread;
    pthread_create(&thread, 0, swap, 0);
    int reached = 0;
    for (int i = 0; i < tries; i++) {
        int fd = mode == 2 ? number : socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
        reached += connect(fd, (void *)&tried, sizeof tried.un) == 0;
        if (mode != 2) close(fd);
        for (int taken; (taken = accept(own, 0, 0)) >= 0;) close(taken);
    }
    stop = 1;
    pthread_join(thread, 0);
    printf("%d\n", reached);
}
"#;

#[test]
fn swapping_the_path_or_the_descriptor_meanwhile_reaches_nothing() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    for level in [Level::Full, Level::Landlock] {
        let mut inside = Inside::new(level, false, "", &[]);
        let outside = inside.world.outside();
        let listeners = Listeners::start(&outside, "", &[]);
        inside.world.file("race.c", RACE);
        inside.does("gcc -pthread -w race.c -o race");
        let target = text(&outside.join("absolute.sock"));
        for mode in 0..3 {
            inside.does(&format!("rm -f link; ./race {mode} 5000 {target} {port}"));
            assert_eq!(listeners.reached(), "", "mode {mode}");
        }
    }
}

#[test]
fn a_refused_connection_is_explained_once() {
    everywhere("", &[], |inside| {
        let outside = inside.world.outside();
        let _listeners = Listeners::start(&outside, "", &[]);
        let path = text(&outside.join("absolute.sock"));
        let connect = "import socket\nfor _ in range(3):\n  try: socket.socket(socket.AF_UNIX).connect(\"PATH\")\n  except OSError as e: print(e)";
        let shown = inside.bash(&format!("python3 -c '{}'", connect.replace("PATH", &path))).ok();
        let why = format!(
            "[sandbox: the Unix socket {path} is outside the scope, so commands cannot connect to it (sandbox.sockets lists exceptions)]"
        );
        assert_eq!(shown.matches("[sandbox: ").count(), 1, "{shown}");
        assert_eq!(shown.lines().last(), Some(why.as_str()), "{shown}");
        assert!(!inside.bash("true").ok().contains("[sandbox"), "not on the next result");
        let datagram = inside.bash("python3 -c 'import socket; socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)'").ok();
        assert!(datagram.contains("[sandbox: commands cannot have Unix datagram sockets"), "{datagram}");
    });
}

/// A socket below a directory that level `full` hides.
#[test]
fn a_hidden_socket_is_explained_too() {
    if !rustix::process::getuid().is_root() {
        return;
    }
    let directory = tempfile::Builder::new().prefix("testudo-").tempdir_in("/run").unwrap();
    std::fs::set_permissions(directory.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let listeners = Listeners::start(directory.path(), "", &[]);
    everywhere("", &[], |inside| {
        symlink(directory.path(), inside.world.project().join("way")).unwrap();
        let path = text(&directory.path().join("absolute.sock"));
        let shown =
            inside.cannot(&format!("python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"{path}\")'"));
        assert!(shown.contains(&format!("[sandbox: the Unix socket {path} is outside the scope")), "{shown}");
        inside.cannot("python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"way/absolute.sock\")'");
    });
    assert_eq!(listeners.reached(), "");
}

#[test]
fn without_its_supervisor_a_session_ends_and_nothing_is_reached() {
    for (level, nobody) in [(Level::Full, false), (Level::Landlock, false), (Level::Full, true)] {
        let mut inside = Inside::new(level, nobody, "", &[]);
        let listeners = Listeners::start(&inside.world.outside(), "", &[]);
        let path = text(&inside.world.outside().join("absolute.sock"));
        let attack = format!(
            "import os, socket\nopen(\"begun\", \"w\")\nwhile True:\n  try: socket.socket(socket.AF_UNIX).connect(\"{path}\")\n  except OSError: pass"
        );
        let call = inside.client.start("bash", serde_json::json!({ "command": format!("python3 -c '{attack}'") }));
        crate::support::until("the command to begin", || inside.world.project().join("begun").exists().then_some(()));
        let name = |pid: &u32| std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        let ours = crate::support::descendants(inside.client.pid());
        let supervisors: Vec<u32> = ours.into_iter().filter(|pid| name(pid) == "testudo-superv\n").collect();
        assert_eq!(supervisors.len(), 1);
        let killed = std::process::Command::new("kill").args(["-9", &supervisors[0].to_string()]).status().unwrap();
        assert!(killed.success());
        call.reply().err();
        assert_eq!(listeners.reached(), "");
        inside.does("true");
    }
}
