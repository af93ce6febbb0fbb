use std::path::PathBuf;

use super::{Client, Reply, StartOptions, World};

/// A server whose commands try to get out.
pub struct Inside {
    pub world: World,
    pub client: Client,
    pub level: Level,
    /// The user that the server runs as is not the one who runs the tests.
    pub nobody: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Level {
    Full,
    Landlock,
}

const NOBODY: u32 = 65534;

/// Tries the same at both levels, as the user who runs the tests and, if that is root, as an ordinary one too.
#[track_caller]
pub fn everywhere(settings: &str, arguments: &[&str], check: impl Fn(&mut Inside)) {
    let root = rustix::process::getuid().is_root();
    for nobody in if root { &[false, true][..] } else { &[false] } {
        for level in [Level::Full, Level::Landlock] {
            #[expect(clippy::print_stderr, reason = "a failure must tell which case it was")]
            {
                eprintln!("-- level {level:?}, as {}", if *nobody { "nobody" } else { "the user who tests" });
            }
            check(&mut Inside::new(level, *nobody, settings, arguments));
        }
    }
}

impl Inside {
    /// `settings` is the rest of a configuration file, after its `[sandbox]`.
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

    /// A new server in the same world, run by the same user.
    pub fn reconnect(&mut self, arguments: &[&str]) {
        self.client = connect(&self.world, self.nobody, arguments);
    }

    /// Root as the user of the server, whose rights go further than file permissions.
    pub fn as_root(&self) -> bool {
        !self.nobody && rustix::process::getuid().is_root()
    }

    #[track_caller]
    pub fn bash(&mut self, command: &str) -> Reply {
        self.client.bash(command)
    }

    /// What a command that must go through prints.
    #[track_caller]
    pub fn does(&mut self, command: &str) -> String {
        let reply = self.client.bash(command);
        assert_eq!(reply.field("exit_code").as_deref(), Some("0"), "should work: {command}\n{}", reply.text());
        reply.stdout()
    }

    /// A command that must not.
    #[track_caller]
    pub fn cannot(&mut self, command: &str) -> String {
        let reply = self.client.bash(command);
        assert_ne!(reply.field("exit_code").as_deref(), Some("0"), "should fail: {command}\n{}", reply.text());
        reply.text()
    }

    /// A file of the person's, outside the project.
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
    let (user, group) = (format!("--reuid={NOBODY}"), format!("--regid={NOBODY}"));
    let mut command = if nobody {
        world.command_by(&["setpriv", &user, &group, "--clear-groups"], arguments)
    } else {
        world.command(arguments)
    };
    // Not for any command's eyes.
    command.env("GITHUB_TOKEN", "canary-123").env("AWS_SECRET_ACCESS_KEY", "canary-456");
    Client::connect(command, StartOptions::default())
}
