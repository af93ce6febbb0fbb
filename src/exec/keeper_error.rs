use std::io;
use std::time::Duration;

use super::shortage;
use crate::keeper::protocol::Failed;

/// Why there is no keeper, or why it did not start a command.
#[derive(Debug, thiserror::Error)]
pub enum KeeperError {
    #[error("failed to start the keeper, the process that runs this session's commands: {0}")]
    Launch(#[source] io::Error),
    #[error("/proc is not mounted here, and commands cannot run without it")]
    NoProc,
    #[error("the keeper did not become ready")]
    NotReady,
    #[error("the sandbox could not be put up: {}", .0.reason)]
    Restrict(Failed),
    #[error("the command was not started within {} s; a file system that it needs may not answer", .0.as_secs())]
    TooSlow(Duration),
    #[error("{0}")]
    Refused(String),
    #[error("the keeper, the process that runs this session's commands, has died")]
    Dead,
    #[error("failed to prepare the command: {0}")]
    Prepare(#[source] io::Error),
    #[error("the working directory {cwd} cannot be entered: {error}")]
    WorkingDirectory { cwd: String, error: io::Error },
    #[error("failed to execute {program}: {error}")]
    Execute { program: String, error: io::Error },
}

/// The server starts its own program again and hands it a memory file, with and without a sandbox.
const LAUNCH: &str = "A seccomp profile of the container may refuse it (memfd_create), or a mount option (noexec); \
                      --sandbox off does not help.";

impl KeeperError {
    /// What to do if something is missing that a person can provide, or has run out.
    pub fn advice(&self) -> Option<String> {
        match self {
            Self::Launch(error) => shortage::advice_on(error).or_else(|| Some(LAUNCH.to_owned())),
            Self::Prepare(error) | Self::Execute { error, .. } => shortage::advice_on(error),
            Self::Restrict(failed) => shortage::advice(failed.errno),
            Self::NoProc => Some("Mount it: mount -t proc proc /proc".to_owned()),
            Self::NotReady | Self::TooSlow(_) | Self::Refused(_) | Self::Dead | Self::WorkingDirectory { .. } => None,
        }
    }

    /// Whether every level of the sandbox fails with it.
    pub fn is_about_all_levels(&self) -> bool {
        matches!(self, Self::NoProc | Self::Launch(_))
    }

    /// Whether no process could be started. After a fork bomb that passes within seconds.
    pub fn lacks_processes(&self) -> bool {
        match self {
            Self::Launch(error) => error.raw_os_error() == Some(libc::EAGAIN),
            Self::Restrict(failed) => failed.errno == libc::EAGAIN,
            _ => false,
        }
    }

    /// Whether the next attempt may succeed although nobody has changed anything.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::NotReady | Self::Dead) || self.advice().is_some()
    }
}
