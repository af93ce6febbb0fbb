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

/// Starts a program under a filter that hides Landlock, as an old kernel would.
const WITHOUT_LANDLOCK: &str = "import ctypes, os, struct, sys\n\
    libc = ctypes.CDLL(None)\n\
    steps = [(0x20, 0, 0, 0), (0x15, 0, 1, 444), (0x06, 0, 0, 0x50026), (0x06, 0, 0, 0x7fff0000)]\n\
    code = ctypes.create_string_buffer(b''.join(struct.pack('HBBI', *step) for step in steps))\n\
    program = struct.pack('HxxxxxxP', len(steps), ctypes.addressof(code))\n\
    assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0\n\
    os.execvp(sys.argv[1], sys.argv[1:])\n";

#[test]
fn level_full_holds_without_landlock_and_level_landlock_says_what_it_needs() {
    let world = World::new();
    let outside = text(&world.outside());
    let launch = ["python3", "-c", WITHOUT_LANDLOCK];
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
