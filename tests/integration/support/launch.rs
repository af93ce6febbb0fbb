//! Launchers: how a client, a service manager or a container starts the server.

use super::{Client, StartOptions, World};

/// Who starts the server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum User {
    /// The user who runs the tests.
    Tester,
    Nobody,
}

pub const NOBODY: u32 = 65534;

impl User {
    /// The users that the tests can start a server as.
    pub fn all() -> &'static [Self] {
        if rustix::process::getuid().is_root() { &[Self::Tester, Self::Nobody] } else { &[Self::Tester] }
    }

    /// A world of which the project and the home belong to this user.
    pub fn world(self) -> World {
        match self {
            Self::Tester => World::new(),
            Self::Nobody => World::for_user(NOBODY),
        }
    }

    /// The launcher that becomes this user.
    pub fn words(self) -> &'static [&'static str] {
        match self {
            Self::Tester => &[],
            Self::Nobody => &["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"],
        }
    }
}

/// The command by which a bash script starts the binary with these arguments. The script ends with `exec "$@"` or with
/// whatever else runs its arguments.
pub fn launcher(world: &World, user: User, script: &str, arguments: &[&str]) -> std::process::Command {
    let words = [user.words(), &["bash", "-c", script, "bash"]].concat();
    world.command_by(&words, arguments)
}

/// A client of the server that the script starts.
#[track_caller]
pub fn launched(world: &World, user: User, script: &str, arguments: &[&str]) -> Client {
    Client::connect(launcher(world, user, script, arguments), StartOptions::default())
}

/// The script by which `tests/data/launch.py` starts the server.
pub fn by_python(words: &str) -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/launch.py");
    let code = std::fs::read_to_string(path).unwrap();
    // Another user may be unable to read the file, so the code itself is handed over.
    format!("exec python3 -c '{}' {words} -- \"$@\"", code.replace('\'', "'\\''"))
}
