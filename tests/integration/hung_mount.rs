//! A mount in the project that does not answer any more, such as a network file system whose server is gone. Whatever does
//! not touch it works as before. Whatever touches it ends by its timeout.

use serde_json::json;

use crate::support::{Client, StartOptions, User, World, alive, nap, text, until, with_word};

/// A server whose project has a mount, `net`, that a test can make hang.
struct Scene {
    world: World,
    client: Client,
    mark: String,
}

impl Scene {
    /// `place` is the directory of the mount; the server is started in the project.
    fn new(user: User, place: &str, level: &str) -> Self {
        let world = user.world();
        let mark = format!("mark-{}", nap());
        let place = world.project().join(place);
        std::fs::create_dir_all(&place).unwrap();
        world.file("code.txt", "needle\n");
        world.file(".git/hooks/pre-commit", "");
        world.file(".git/HEAD", "ref: refs/heads/main\n");
        world.own_by(user);
        let config = world.outside().join("config.toml");
        std::fs::write(&config, format!("[sandbox]\nlevel = \"{level}\"\n")).unwrap();
        let code = include_str!("../data/fuse.py");
        let place = text(&place);
        let namespace = if rustix::process::getuid().is_root() { "-m" } else { "-Urm" };
        let words = [&["unshare", namespace, "python3", "-c", code, &place, &mark, "--"][..], user.words()].concat();
        let command = world.command_by(&words, &["--config", &text(&config)]);
        let client = Client::connect(command, StartOptions::default());
        Self { world, client, mark }
    }

    /// From now on everything that touches the mount waits. The process is stopped while it waits for a request: the kernel
    /// lets nobody die whose request it has taken and not answered.
    fn hang(&self) {
        const READ: &str = "0";
        let signal = |name: &str, pid: u32| {
            assert!(std::process::Command::new("kill").args([name, &pid.to_string()]).status().unwrap().success());
        };
        let field = |pid: u32, name: &str| std::fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap();
        for pid in self.daemon() {
            let mut switches = String::new();
            until("the first walk to be over", || {
                let before = std::mem::replace(&mut switches, field(pid, "status"));
                std::thread::sleep(std::time::Duration::from_millis(300));
                (before == switches).then_some(())
            });
            until("the file system to stop between two requests", || {
                signal("-STOP", pid);
                until("the file system to stop", || field(pid, "stat").contains(") T ").then_some(()));
                let waits = field(pid, "syscall").split(' ').next() == Some(READ);
                if !waits {
                    signal("-CONT", pid);
                }
                waits.then_some(())
            });
        }
    }

    /// The process that serves the mount. The server has the mark in its own command line no more.
    fn daemon(&self) -> Vec<u32> {
        let found = with_word(&self.mark);
        assert_eq!(found.len(), 1, "{found:?}");
        found
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        // A stopped process does not notice that its parent is gone.
        for pid in with_word(&self.mark) {
            let _ = std::process::Command::new("kill").args(["-KILL", &pid.to_string()]).status();
        }
    }
}

fn everywhere(check: impl Fn(&mut Scene)) {
    for user in User::all() {
        for level in ["auto", "landlock"] {
            check(&mut Scene::new(*user, "net", level));
        }
    }
}

#[test]
fn what_does_not_touch_a_hung_mount_works_as_before() {
    everywhere(|scene| {
        scene.hang();
        assert_eq!(scene.client.bash("echo ran; cd /usr").stdout(), "ran\n");
        assert_eq!(scene.client.bash("pwd").stdout(), "/usr\n");
        assert_eq!(scene.client.bash(&format!("cd {}", text(&scene.world.project()))).stdout(), "");
        let found = scene.client.call("grep", json!({"pattern": "needle"})).ok();
        assert!(found.contains("code.txt") && found.contains("Not searched: net, which does not answer"), "{found}");
        let found = scene.client.call("find", json!({"pattern": "*.txt"})).ok();
        assert!(found.contains("code.txt") && found.contains("Not searched: net, which does not answer"), "{found}");
        let said = scene.client.bash("echo evil > .git/hooks/pre-commit; cat .git/hooks/pre-commit").ok();
        let hook = std::fs::read_to_string(scene.world.project().join(".git/hooks/pre-commit")).unwrap();
        assert_eq!(hook, "", "{said}");
        scene.client.call("create_file", json!({"path": "new.txt", "content": "x"})).ok();
        scene.client.call("view", json!({"path": "new.txt"})).ok();
    });
}

#[test]
fn a_mount_that_hangs_later_does_no_harm_either() {
    everywhere(|scene| {
        assert_eq!(scene.client.bash("ls net; echo ran").stdout(), "ran\n");
        scene.hang();
        for _ in 0..3 {
            assert_eq!(scene.client.bash("echo ran").stdout(), "ran\n");
        }
        assert!(scene.client.call("grep", json!({"pattern": "needle"})).ok().contains("code.txt"));
    });
}

/// Secrets are looked for in the home before each command.
#[test]
fn a_mount_in_the_home_does_no_harm_when_it_hangs() {
    for user in User::all() {
        for (level, place) in [("auto", "net"), ("auto", ".config"), ("landlock", ".config")] {
            let mut scene = Scene::new(*user, &format!("../home/{place}"), level);
            assert_eq!(scene.client.bash("echo ran").stdout(), "ran\n");
            scene.hang();
            assert_eq!(scene.client.bash("echo ran").stdout(), "ran\n");
            let other = scene.client.call("bash", json!({"command": "echo ran", "session": "other"}));
            assert_eq!(other.stdout(), "ran\n", "{level} {place}");
            scene.client.call("view", json!({"path": "code.txt"})).ok();
        }
    }
}

#[test]
fn a_command_that_touches_a_hung_mount_keeps_its_timeout() {
    everywhere(|scene| {
        scene.hang();
        let said = scene.client.call("bash", json!({"command": "ls net", "timeout": 500})).ok();
        assert!(said.starts_with("Command timed out after 500ms"), "{said}");
        assert_eq!(scene.client.bash("echo ran").stdout(), "ran\n");
        let pending = scene.client.start("bash", json!({"command": "ls net"}));
        scene.client.cancel(&pending);
        assert_eq!(scene.client.bash("echo ran").stdout(), "ran\n");
    });
}

#[test]
fn a_session_whose_directory_hangs_answers_and_can_leave_it() {
    everywhere(|scene| {
        assert_eq!(
            scene.client.bash("cd net; pwd").stdout(),
            format!("{}\n", text(&scene.world.project().join("net")))
        );
        scene.hang();
        // A command that comes in the very moment still gets its shell, and ends by its timeout.
        let said = until("the answer that names the reason", || {
            let reply = scene.client.call("bash", json!({"command": "echo ran", "timeout": 300}));
            reply.is_error().then(|| reply.err())
        });
        assert!(said.contains("its file system does not answer") && said.contains("Nothing was run."), "{said}");
        assert_eq!(scene.client.bash("pwd").stdout(), format!("{}\n", text(&scene.world.project())));
        for (tool, arguments) in [
            ("grep", json!({"pattern": "needle", "path": "net"})),
            ("find", json!({"pattern": "*", "path": "net/x"})),
            ("view", json!({"path": "net/x"})),
            ("create_file", json!({"path": "net/x", "content": ""})),
        ] {
            let said = scene.client.call(tool, arguments).err();
            assert!(said.contains("the file system does not answer"), "{tool}: {said}");
        }
        let listed = scene.client.call("view", json!({"path": "."})).ok();
        assert!(listed.contains("code.txt") && listed.contains("net/ (does not answer)"), "{listed}");
        let viewed = scene.client.call("view", json!({"path": text(&scene.world.project().join("code.txt"))})).ok();
        assert!(viewed.contains("needle"), "{viewed}");
    });
}

#[test]
fn a_hung_mount_does_not_keep_the_server_from_ending() {
    for end in ["EOF", "TERM"] {
        everywhere(|scene| {
            scene.hang();
            let (_command, _search) = (
                scene.client.start("bash", json!({"command": "ls net"})),
                scene.client.start("view", json!({"path": "net/x"})),
            );
            let server = scene.client.pid();
            if end == "EOF" {
                scene.client.hang_up();
            } else {
                std::process::Command::new("kill").arg(server.to_string()).status().unwrap();
            }
            scene.client.wait_for_exit();
            assert!(!alive(server));
        });
    }
}
