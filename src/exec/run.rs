//! A shell command from start to end.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use tokio::io::unix::AsyncFd;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::process::{Exited, Process};
use super::shell::memory_file;
use super::stream::{LineListener, Recording, pipe, read_some, record};
use super::watched::watched;
use super::{Keeper, KeeperError, Settings, Shell, ShellState, Store, View};
use crate::gate::Permitted;
use crate::policy::action::RunCommand;

/// Where a command is run and what it shares with the others of its session.
pub struct Place<'a> {
    pub keeper: &'a Keeper,
    pub shell: &'a Shell,
    pub store: &'a Store,
    pub settings: &'a Settings,
    pub nonce: &'a str,
    pub state: &'a ShellState,
}

/// A command under way.
#[derive(Debug)]
pub struct Running {
    pub process: Process,
    pub stdout: Recording,
    pub stderr: Recording,
    report: JoinHandle<Vec<u8>>,
    report_over: CancellationToken,
}

/// How a call to a command ended.
#[derive(Debug)]
pub enum Ending {
    /// By itself, with what its shell reported and the descendants that still run.
    Exited {
        exited: Exited,
        report: Vec<u8>,
    },
    /// Nobody knows how: its reaper was killed.
    Lost,
    TimedOut {
        exited: Option<Exited>,
    },
    Cancelled,
}

/// How long the pipes may stay quiet after the command has ended while somebody still holds them.
const QUIET: Duration = Duration::from_millis(100);
const LONGEST_DRAIN: Duration = Duration::from_millis(500);

/// Starts permitted shell text.
pub async fn spawn(
    permitted: &Permitted<RunCommand>,
    place: &Place<'_>,
    stdin: Option<&str>,
    listener: Option<LineListener>,
) -> Result<Running, KeeperError> {
    let prepare = || -> io::Result<_> {
        let view = || View::new(place.settings.output.view_characters);
        let (stdout, stdout_end) = record(place.store, view(), listener.clone())?;
        let (stderr, stderr_end) = record(place.store, view(), listener)?;
        let (report, report_end) = pipe()?;
        let (start, extra) = place.shell.command(&permitted.command, place.nonce, place.state, report_end)?;
        let descriptors = [stdin_from(stdin)?, stdout_end, stderr_end].into_iter().chain(extra).collect();
        Ok((stdout, stderr, watched(report)?, start, descriptors))
    };
    let (stdout, stderr, report, start, descriptors) = prepare().map_err(KeeperError::Prepare)?;
    let process = place.keeper.start(&start, descriptors).await?;
    let report_over = CancellationToken::new();
    let over = report_over.clone();
    let report = tokio::spawn(async move { collect(&report, &over).await });
    Ok(Running { process, stdout, stderr, report, report_over })
}

impl Running {
    /// Waits for the end, whichever comes first; on a timeout or cancel the whole tree has ended when this returns.
    pub async fn finish(&mut self, timeout: Option<Duration>, cancel: &CancellationToken) -> Ending {
        let limit = async {
            match timeout {
                Some(limit) => tokio::time::sleep(limit).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            exited = self.process.exited() => match exited {
                Some(exited) => {
                    self.drain().await;
                    Ending::Exited { exited, report: self.report().await }
                }
                None => Ending::Lost,
            },
            () = cancel.cancelled() => {
                self.process.terminate().await;
                Ending::Cancelled
            }
            () = limit => {
                self.process.terminate().await;
                self.drain().await;
                Ending::TimedOut { exited: self.process.exited().await }
            }
        }
    }

    /// What was written before the end is in the pipes already; who still holds them may go on, we do not wait for it.
    async fn drain(&self) {
        tokio::join!(self.stdout.drained(QUIET, LONGEST_DRAIN), self.stderr.drained(QUIET, LONGEST_DRAIN));
    }

    async fn report(&mut self) -> Vec<u8> {
        self.report_over.cancel();
        (&mut self.report).await.unwrap_or_default()
    }
}

/// A file in memory, so that nobody has to feed it; the end of the file is the end of the input.
fn stdin_from(text: Option<&str>) -> io::Result<OwnedFd> {
    match text {
        Some(text) => memory_file(c"stdin", text.as_bytes()),
        None => Ok(File::open("/dev/null")?.into()),
    }
}

/// The shell's report, read while it is written because it may be larger than the pipe. A child that inherited the
/// descriptor keeps it open, so the command's end is the end of it.
async fn collect(report: &AsyncFd<OwnedFd>, over: &CancellationToken) -> Vec<u8> {
    const LONGEST_REPORT: usize = 8 << 20;
    let mut bytes = Vec::new();
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let count = tokio::select! {
            count = read_some(report, &mut buffer) => count,
            // Whatever was written before the end is there to be read now.
            () = over.cancelled() => rustix::io::read(report, &mut buffer).ok().filter(|count| *count > 0),
        };
        match count {
            Some(count) if bytes.len() < LONGEST_REPORT => bytes.extend_from_slice(&buffer[..count]),
            Some(_) => {}
            None => return bytes,
        }
    }
}
