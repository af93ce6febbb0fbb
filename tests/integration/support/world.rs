use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Client, StartOptions, User};

/// The directories of one test: a project, a directory outside it, an empty home. They are removed with this value.
pub struct World {
    directory: tempfile::TempDir,
    binary: PathBuf,
}

impl World {
    pub fn new() -> Self {
        // Commands see a /tmp of their own, so a project below /tmp would be a special case.
        Self::below(Path::new(env!("CARGO_TARGET_TMPDIR")))
    }

    /// A world for another user, who may be unable to read the build directory: it lies in /var/tmp, holds the binary,
    /// and belongs to that user.
    pub fn for_user(user: u32) -> Self {
        let mut world = Self::below(Path::new("/var/tmp"));
        let root = world.directory.path().to_owned();
        world.binary = root.join("testudo");
        let built = Path::new(env!("CARGO_BIN_EXE_testudo"));
        std::fs::hard_link(built, &world.binary).or_else(|_| std::fs::copy(built, &world.binary).map(drop)).unwrap();
        for path in [root, world.project(), world.home(), world.outside()] {
            std::os::unix::fs::chown(path, Some(user), Some(user)).unwrap();
        }
        world
    }

    fn below(parent: &Path) -> Self {
        let directory = tempfile::Builder::new().prefix("world-").tempdir_in(parent).unwrap();
        let world = Self { directory, binary: PathBuf::from(env!("CARGO_BIN_EXE_testudo")) };
        for name in ["project", "outside", "home"] {
            std::fs::create_dir(world.path(name)).unwrap();
        }
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    pub fn project(&self) -> PathBuf {
        self.path("project")
    }

    pub fn outside(&self) -> PathBuf {
        self.path("outside")
    }

    pub fn home(&self) -> PathBuf {
        self.path("home")
    }

    /// Writes a file in the project and makes its parent directories.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.project().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    /// Gives everything in the project to the user.
    pub fn own_by(&self, user: User) {
        if user == User::Nobody {
            let status = Command::new("chown").args(["-R", "65534:65534"]).arg(self.project()).status().unwrap();
            assert!(status.success());
        }
    }

    pub fn read(&self, name: &str) -> String {
        String::from_utf8(std::fs::read(self.project().join(name)).unwrap()).unwrap()
    }

    /// The binary with a fixed environment: nothing is inherited but PATH.
    pub fn command(&self, arguments: &[&str]) -> Command {
        self.through(Command::new(&self.binary), arguments)
    }

    /// Like [`World::command`], started by a program such as `setpriv`.
    pub fn command_by(&self, words: &[&str], arguments: &[&str]) -> Command {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).arg(&self.binary);
        self.through(command, arguments)
    }

    fn through(&self, mut command: Command, arguments: &[&str]) -> Command {
        command
            .args(arguments)
            .current_dir(self.project())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home())
            .env("LANG", "C.UTF-8");
        command
    }

    /// Runs the binary until it exits.
    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).stdin(Stdio::null()).output().unwrap()
    }

    /// Starts a server in the project and connects a client to it.
    pub fn server(&self, arguments: &[&str]) -> Client {
        Client::connect(self.command(arguments), StartOptions::default())
    }

    pub fn server_with(&self, arguments: &[&str], options: StartOptions) -> Client {
        Client::connect(self.command(arguments), options)
    }
}

/// An argument for `sleep` that no other process on the machine has, so that its process can be found.
pub fn nap() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{}.{}", 100_000 + count, std::process::id())
}

/// The path as text.
pub fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}
