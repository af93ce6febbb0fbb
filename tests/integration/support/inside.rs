use std::path::PathBuf;

use super::launch::NOBODY;
use super::{Client, Reply, StartOptions, World};

/// A server whose commands try to break out of the sandbox.
pub struct Inside {
    pub world: World,
    pub client: Client,
    pub level: Level,
    /// The server runs as the user nobody instead of the user who runs the tests.
    pub nobody: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Level {
    Full,
    Landlock,
}

/// The beginning of a command line that runs a program as nobody.
pub fn user_words() -> [&'static str; 4] {
    ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
}

/// Runs `check` at both levels, as the user who runs the tests. If that user is root, `check` also runs as nobody.
#[track_caller]
pub fn everywhere(settings: &str, arguments: &[&str], check: impl Fn(&mut Inside)) {
    each_case(|level, nobody| check(&mut Inside::new(level, nobody, settings, arguments)));
}

pub fn each_case(check: impl Fn(Level, bool)) {
    let root = rustix::process::getuid().is_root();
    for nobody in if root { &[false, true][..] } else { &[false] } {
        for level in [Level::Full, Level::Landlock] {
            #[expect(clippy::print_stderr, reason = "a failure must tell which case it was")]
            {
                eprintln!("-- level {level:?}, as {}", if *nobody { "nobody" } else { "the user who tests" });
            }
            check(level, *nobody);
        }
    }
}

impl Inside {
    /// `settings` continues the table `[sandbox]` of the configuration file.
    pub fn new(level: Level, nobody: bool, settings: &str, arguments: &[&str]) -> Self {
        let world = if nobody { World::for_user(NOBODY) } else { World::new() };
        let config = world.outside().join("config.toml");
        let wanted = if level == Level::Full { "auto" } else { "landlock" };
        std::fs::write(&config, format!("[sandbox]\nlevel = \"{wanted}\"\n{settings}\n")).unwrap();
        let arguments: Vec<&str> =
            ["--config", config.to_str().unwrap()].into_iter().chain(arguments.iter().copied()).collect();
        let client = connect(&world, nobody, &arguments);
        let hello = client.hello["instructions"].as_str().unwrap().to_owned();
        let shown = if level == Level::Full { "level full" } else { "level landlock" };
        assert!(hello.contains(shown), "the tests need the machine to reach {shown}: {hello}\n{}", client.log());
        Self { world, client, level, nobody }
    }

    /// A new server in the same world, with the same settings. It finds the project as the test has prepared it.
    pub fn restart(&mut self) {
        let config = self.world.outside().join("config.toml");
        self.reconnect(&["--config", config.to_str().unwrap()]);
    }

    /// Gives everything in the project to the user who runs the server.
    pub fn give_project_to_user(&self) {
        if self.nobody {
            let owner = format!("{NOBODY}:{NOBODY}");
            let done = std::process::Command::new("chown").args(["-R", &owner]).arg(self.world.project()).status();
            assert!(done.unwrap().success());
        }
    }

    /// A new server in the same world, run by the same user.
    pub fn reconnect(&mut self, arguments: &[&str]) {
        self.client = connect(&self.world, self.nobody, arguments);
    }

    /// Whether the server runs as root, whom file permissions do not stop.
    pub fn as_root(&self) -> bool {
        !self.nobody && rustix::process::getuid().is_root()
    }

    #[track_caller]
    pub fn bash(&mut self, command: &str) -> Reply {
        self.client.bash(command)
    }

    /// Runs a command that must succeed, and returns its stdout.
    #[track_caller]
    pub fn does(&mut self, command: &str) -> String {
        let reply = self.client.bash(command);
        assert_eq!(reply.field("exit_code").as_deref(), Some("0"), "should work: {command}\n{}", reply.text());
        reply.stdout()
    }

    /// Runs a command that must fail, and returns the whole text.
    #[track_caller]
    pub fn cannot(&mut self, command: &str) -> String {
        let reply = self.client.bash(command);
        assert_ne!(reply.field("exit_code").as_deref(), Some("0"), "should fail: {command}\n{}", reply.text());
        reply.text()
    }

    /// Writes a file outside the project.
    pub fn outside_file(&self, name: &str, content: &str) -> PathBuf {
        self.place(self.world.outside().join(name), content)
    }

    pub fn home_file(&self, name: &str, content: &str) -> PathBuf {
        self.place(self.world.home().join(name), content)
    }

    fn place(&self, path: PathBuf, content: &str) -> PathBuf {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        if self.nobody {
            let owned = path.ancestors().take_while(|above| above.starts_with(self.world.home()) || *above == path);
            owned.for_each(|path| std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY)).unwrap());
        }
        path
    }
}

fn connect(world: &World, nobody: bool, arguments: &[&str]) -> Client {
    let mut command = if nobody { world.command_by(&user_words(), arguments) } else { world.command(arguments) };
    // Secrets that no command may see.
    command.env("GITHUB_TOKEN", "canary-123").env("AWS_SECRET_ACCESS_KEY", "canary-456");
    Client::connect(command, StartOptions::default())
}
