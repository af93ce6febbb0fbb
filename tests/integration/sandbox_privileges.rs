//! Devices, capabilities and shared memory: what the kernel gives to root or to programs of one user, and the sandbox takes
//! away. Where the server itself has less than usual, it still works or says what is missing.

use std::path::PathBuf;
use std::process::Command;

use crate::support::{Client, Level, StartOptions, World, everywhere, text};

/// A node for the device that reads as zeros, removed with this value. Only root can make one.
struct Node(PathBuf);

impl Node {
    fn new(path: PathBuf, kind: &str, numbers: [&str; 2]) -> Self {
        let made = Command::new("mknod").args(["-m", "666"]).arg(&path).arg(kind).args(numbers).status().unwrap();
        assert!(made.success(), "{}", path.display());
        Self(path)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn a_device_node_is_no_device_wherever_it_lies() {
    if !rustix::process::getuid().is_root() {
        return;
    }
    everywhere("", &[], |inside| {
        let name = format!("testudo-{}-{:?}-{}", std::process::id(), inside.level, inside.nobody);
        let mut nodes = vec![Node::new(PathBuf::from("/dev").join(name), "c", ["1", "5"])];
        // Landlock cannot tell a device node from a file, so at level `landlock` only /dev is closed.
        if inside.level == Level::Full {
            for directory in [inside.world.outside(), inside.world.project(), inside.world.home()] {
                nodes.push(Node::new(directory.join("zero"), "c", ["1", "5"]));
                nodes.push(Node::new(directory.join("disk"), "b", ["7", "0"]));
            }
        }
        for Node(path) in &nodes {
            inside.cannot(&format!("head -c1 {} | grep -c .", path.display()));
            inside.cannot(&format!("exec 3< {}", path.display()));
        }
        inside.cannot("for disk in $(find /dev -type b); do head -c1 $disk && exit 0; done; exit 1");
        inside.does("head -c1 /dev/zero | wc -c && echo x > /dev/null && head -c1 /dev/urandom | wc -c");
    });
}

#[test]
#[cfg(target_arch = "x86_64")]
fn shared_memory_without_a_path_is_the_sessions_own() {
    const KEY: i32 = 0x7e57;
    // Prints the errors of shmget, msgget, semget and mq_open for something that a program outside has made.
    let probe = |key: i32, name: &str| {
        format!(
            "python3 -c 'import ctypes; c = ctypes.CDLL(None, use_errno=True)\n\
             for call, words in [(29, ({key}, 4096, 0)), (68, ({key}, 0)), (64, ({key}, 1, 0)), (240, (b\"{name}\", 2, 0, None))]:\n    \
             ctypes.set_errno(0); c.syscall(call, *words); print(ctypes.get_errno(), end=\" \")'"
        )
    };
    everywhere("", &[], |inside| {
        let key = KEY + i32::try_from(std::process::id() % 10_000).unwrap() * 8;
        let name = format!("testudo-{}", std::process::id());
        let make = format!(
            "import ctypes; c = ctypes.CDLL(None); c.syscall(29, {key}, 4096, 0o1666); c.syscall(68, {key}, 0o1666); \
             c.syscall(64, {key}, 1, 0o1666); c.syscall(240, b'{name}', 0o102, 0o666, None)"
        );
        let run = |script: &str| assert!(Command::new("python3").args(["-c", script]).status().unwrap().success());
        run(&make);
        let errors = inside.does(&probe(key, &name));
        run(&format!(
            "import ctypes; c = ctypes.CDLL(None); c.syscall(31, c.syscall(29, {key}, 0, 0), 0, 0); \
             c.syscall(71, c.syscall(68, {key}, 0), 0, 0); c.syscall(66, c.syscall(64, {key}, 0, 0), 0, 0); \
             c.syscall(241, b'{name}')"
        ));
        // At level `full` there is nothing of that key or name, and the session can make its own.
        assert_eq!(errors, if inside.level == Level::Full { "2 2 2 2 " } else { "1 1 1 1 " });
        if inside.level == Level::Full {
            inside.does("python3 -c 'import ctypes; assert ctypes.CDLL(None).syscall(29, 0, 4096, 0o600) >= 0'");
        }
    });
}

/// As in a container that was started with `--cap-drop ALL`.
#[test]
fn root_without_capabilities_can_run_commands() {
    let world = World::new();
    let none = ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all"];
    let words: &[&str] = if rustix::process::getuid().is_root() { &none } else { &["env"] };
    for level in ["auto", "landlock"] {
        let config = world.outside().join("config.toml");
        std::fs::write(&config, format!("[sandbox]\nlevel = \"{level}\"\n")).unwrap();
        let command = world.command_by(words, &["--config", &text(&config)]);
        let mut server = Client::connect(command, StartOptions::default());
        assert_eq!(server.bash("touch made && grep CapBnd /proc/self/status").field("exit_code").as_deref(), Some("0"));
    }
}

/// Starts a program under a filter in which a system call does not exist. With a number of 0, every call exists, but the
/// filter has a supervisor, as some containers have one.
const UNDER_FILTER: &str = "import ctypes, os, struct, sys\n\
    libc, missing = ctypes.CDLL(None), int(sys.argv[1])\n\
    steps = [(0x20, 0, 0, 0), (0x15, 0, 1, missing or 0xffff), (0x06, 0, 0, 0x50026), (0x06, 0, 0, 0x7fff0000)]\n\
    code = ctypes.create_string_buffer(b''.join(struct.pack('HBBI', *step) for step in steps))\n\
    program = struct.pack('HxxxxxxP', len(steps), ctypes.addressof(code))\n\
    assert libc.prctl(38, 1, 0, 0, 0) == 0\n\
    listener = libc.syscall(317, 1, 0 if missing else 8, program)\n\
    assert listener >= 0\n\
    if not missing: os.dup2(listener, 100)\n\
    os.execvp(sys.argv[2], sys.argv[2:])\n";

fn under_filter(missing: &str) -> [&str; 4] {
    ["python3", "-c", UNDER_FILTER, missing]
}

#[test]
#[cfg(target_arch = "x86_64")]
fn level_full_holds_without_landlock_and_level_landlock_says_what_it_needs() {
    let world = World::new();
    let outside = text(&world.outside());
    let launch = under_filter("444");
    let mut server = Client::connect(world.command_by(&launch, &[]), StartOptions::default());
    let hello = server.hello["instructions"].as_str().unwrap().to_owned();
    assert!(hello.contains("level full"), "{hello}\n{}", server.log());
    assert_eq!(server.bash("touch here").field("exit_code").as_deref(), Some("0"));
    assert_ne!(server.bash(&format!("touch {outside}/there")).field("exit_code").as_deref(), Some("0"));
    let config = world.outside().join("config.toml");
    std::fs::write(&config, "[sandbox]\nlevel = \"landlock\"\n").unwrap();
    let arguments = ["--config", config.to_str().unwrap()];
    let mut server = Client::connect(world.command_by(&launch, &arguments), StartOptions::default());
    let refused = server.bash("touch ran").err();
    assert!(refused.contains("this kernel offers no Landlock") && refused.contains("Linux 6.2"), "{refused}");
    assert!(!world.project().join("ran").exists());
    let doctor = world.command_by(&launch, &["doctor", "--config", &text(&config)]).output().unwrap();
    let doctor = String::from_utf8(doctor.stdout).unwrap();
    assert!(doctor.contains("this kernel offers no Landlock") && doctor.contains("--sandbox off"), "{doctor}");
}

#[test]
#[cfg(target_arch = "x86_64")]
fn no_file_gets_a_set_id_bit_and_archives_still_unpack() {
    everywhere("", &[], |inside| {
        let set_id = "find . -path ./from -prune -o -type f -perm /6000 -print";
        inside.does("mkdir d && printf '#!/bin/sh\\n' > d/x && touch d/y");
        for mode in ["4755", "u+s", "g+s", "6711", "2755"] {
            let shown = inside.bash(&format!("chmod {mode} d/x && stat -c %a d/x")).ok();
            assert!(
                shown.contains("exit_code: 0") && shown.contains("d/x did not get a set-user-ID"),
                "{mode}: {shown}"
            );
            assert_eq!(inside.does(set_id), "", "{mode}");
        }
        inside.does("chmod 4751 d/x");
        assert_eq!(inside.does("stat -c %a d/x"), "751\n");
        assert_eq!(inside.does("chmod 2775 d && chmod g+s d && stat -c %a d && touch d/z").trim(), "2775");
        // All calls that take a mode, by path, by descriptor, through /proc, relative and absolute.
        let tried = inside.does(
            "python3 - <<'E'\nimport ctypes, os, tempfile\nlibc = ctypes.CDLL(None, use_errno=True)\n\
             fd = os.open('d/y', os.O_RDWR); path = os.open('d/y', os.O_PATH); d = os.open('d', os.O_RDONLY); bits = []\n\
             def look(*names):\n    bits.extend(name for name in names if os.path.exists(name) and os.stat(name).st_mode & 0o6000)\n\
             for act in [lambda: os.chmod('d/y', 0o6755), lambda: os.fchmod(fd, 0o4755), lambda: os.chmod('y', 0o2755, dir_fd=d),\n\
                 lambda: os.chmod('/proc/self/fd/%d' % path, 0o4755), lambda: os.chmod(os.path.abspath('d/y'), 0o4755),\n\
                 lambda: libc.syscall(452, d, b'y', 0o4755, 0x100), lambda: libc.syscall(452, path, b'', 0o4755, 0x1000),\n\
                 lambda: libc.syscall(90, b'd/y', 0o4755), lambda: os.open('n1', os.O_CREAT | os.O_WRONLY, 0o4755),\n\
                 lambda: os.open('n2', os.O_CREAT | os.O_WRONLY, 0o2755), lambda: libc.syscall(2, b'n3', 0o101, 0o4755),\n\
                 lambda: libc.syscall(85, b'n4', 0o4755), lambda: os.mknod('n5', 0o104755),\n\
                 lambda: libc.syscall(437, -100, b'n6', (ctypes.c_uint64 * 3)(0o101, 0o4755, 0), 24),\n\
                 lambda: os.link('/proc/self/fd/%d' % os.open('.', os.O_TMPFILE | os.O_RDWR, 0o4755), 'n7', follow_symlinks=True)]:\n\
             \x20   try: act()\n    except OSError: pass\n    look('d/y', 'n1', 'n2', 'n3', 'n4', 'n5', 'n6', 'n7')\nprint(bits)\nE",
        );
        assert!(tried.starts_with("[]\n"), "{tried}");
        // An archive with such a file, and the file itself, made by somebody outside.
        let pack = "mkdir a && echo x > a/f && chmod 6755 a/f && chmod 2755 a && tar cf a.tar a && mv a from";
        let packed = Command::new("sh").args(["-c", pack]).current_dir(inside.world.project()).status().unwrap();
        assert!(packed.success());
        inside.does("tar xpf a.tar && test -x a/f && cp -a from b && test -x b/f");
        inside.does("install -m 4755 from/f c && test -x c && git init -q --shared repo");
        assert_eq!(inside.does(set_id), "");
        assert_eq!(inside.does("stat -c %a a"), "2755\n");
    });
}

/// As in most containers, where `pidfd_getfd` does not exist, and in those that have a supervisor of their own.
#[test]
#[cfg(target_arch = "x86_64")]
fn where_nothing_can_be_supervised_there_are_no_unix_sockets() {
    for missing in ["438", "0"] {
        for level in ["auto", "landlock"] {
            let world = World::new();
            let config = world.outside().join("config.toml");
            std::fs::write(&config, format!("[sandbox]\nlevel = \"{level}\"\n")).unwrap();
            let arguments = ["--config", config.to_str().unwrap()];
            let launch = under_filter(missing);
            let mut server = Client::connect(world.command_by(&launch, &arguments), StartOptions::default());
            let refused = server.bash("python3 -c 'import socket; socket.socket(socket.AF_UNIX)'").text();
            assert!(refused.contains("exit_code: 1") && refused.contains("no Unix sockets at all here"), "{refused}");
            let mut code = |command: &str| server.bash(command).field("exit_code").unwrap();
            assert_eq!(code("python3 -c 'import socket; socket.socketpair()'"), "0");
            let network = "import socket; s = socket.create_server((\"127.0.0.1\", 0)); socket.create_connection(s.getsockname())";
            assert_eq!(code(&format!("python3 -c '{network}'")), "0");
            assert_ne!(code("touch x && chmod 4755 x"), "0");
            assert_eq!(code("chmod 755 x && test -x x"), "0");
            let doctor = world.command_by(&launch, &["doctor", arguments[0], arguments[1]]).output().unwrap();
            let doctor = String::from_utf8(doctor.stdout).unwrap();
            assert!(doctor.contains("held    Unix sockets cannot be used at all"), "{doctor}");
        }
    }
}
