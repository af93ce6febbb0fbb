//! The server's handle on a session's keeper: made on first use, asked to start commands, replaced when it dies.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::process::Process;
use super::shell::memory_file;
use super::socket::Socket;
use crate::keeper::protocol::{READY, Report, SUBCOMMAND, Start, Step};

#[derive(Debug)]
pub struct Keeper {
    socket: Socket,
    dead: AtomicBool,
}

#[derive(Debug, thiserror::Error)]
pub enum KeeperError {
    #[error("failed to start the keeper, the process that runs this session's commands: {0}")]
    Launch(#[source] io::Error),
    #[error("the keeper did not become ready")]
    NotReady,
    #[error("the keeper, the process that runs this session's commands, has died")]
    Dead,
    #[error("failed to prepare the command: {0}")]
    Prepare(#[source] io::Error),
    #[error("the working directory {cwd} cannot be entered: {error}")]
    WorkingDirectory { cwd: String, error: io::Error },
    #[error("failed to execute {program}: {error}")]
    Execute { program: String, error: io::Error },
}

/// How long a keeper may take before we call it broken; it is ready in about a millisecond.
const READY_WITHIN: Duration = Duration::from_secs(10);

impl Keeper {
    /// Starts our own binary again as the guard, which makes the keeper.
    pub async fn launch() -> Result<Self, KeeperError> {
        let (socket, theirs) = Socket::pair().map_err(KeeperError::Launch)?;
        // The posix_spawn path: no fork of this process, whatever its size. Dropping the handle leaves the reaping to
        // tokio; the guard ends by itself when our socket closes.
        tokio::process::Command::new("/proc/self/exe")
            .arg0("testudo-guard")
            .arg(SUBCOMMAND)
            .env_clear()
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::null())
            .spawn()
            .map_err(KeeperError::Launch)?;
        match tokio::time::timeout(READY_WITHIN, socket.receive()).await {
            Ok(message) if message == READY => Ok(Self { socket, dead: AtomicBool::new(false) }),
            _ => Err(KeeperError::NotReady),
        }
    }

    /// Known to have failed us, or its end of the socket has closed.
    pub fn is_dead(&self) -> bool {
        self.dead.load(Ordering::Relaxed) || self.socket.is_closed()
    }

    /// The next command gets a new keeper.
    fn mark_dead(&self) {
        self.dead.store(true, Ordering::Relaxed);
    }

    /// Has the keeper start a command; `descriptors` are stdin, stdout, stderr and then the command's own.
    /// A terminal's master comes back with the process.
    pub async fn start(
        &self,
        start: &Start,
        descriptors: Vec<OwnedFd>,
    ) -> Result<(Process, Option<OwnedFd>), KeeperError> {
        let description = memory_file(c"start", &start.encode()).map_err(KeeperError::Prepare)?;
        let (control, theirs) = Socket::pair().map_err(KeeperError::Prepare)?;
        let mut all: Vec<BorrowedFd<'_>> = vec![description.as_fd(), theirs.as_fd()];
        all.extend(descriptors.iter().map(AsFd::as_fd));
        if self.socket.send(b"start", &all).await.is_err() {
            self.mark_dead();
            return Err(KeeperError::Dead);
        }
        // Ours must be closed before we wait: a pipe that we hold open would never end for its reader.
        drop((theirs, descriptors));
        let (message, master) = control.receive_with_descriptor().await;
        match Report::decode(&message) {
            Ok(Report::Started { pid }) => Ok((Process::new(control, pid), master)),
            Ok(Report::Failed { step, errno }) => Err(failure(start, step, errno)),
            Ok(Report::Exited { .. } | Report::Waiting { .. }) | Err(_) => {
                self.mark_dead();
                Err(KeeperError::Dead)
            }
        }
    }
}

fn failure(start: &Start, step: Step, errno: i32) -> KeeperError {
    let error = io::Error::from_raw_os_error(errno);
    match step {
        Step::Description | Step::Terminal => KeeperError::Prepare(error),
        Step::WorkingDirectory => KeeperError::WorkingDirectory { cwd: start.cwd.display().to_string(), error },
        Step::Execute => KeeperError::Execute { program: start.program.to_string_lossy().into_owned(), error },
    }
}
