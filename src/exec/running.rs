//! A command under way, and how a call waits for its end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::output::Recording;
use super::process::{Exited, Process};
use super::shell::{GONE, STALE, StateChannel};
use super::terminal::Terminal;
use super::{Denials, ExitStatus, Input, OwnNetwork, ShellReport, ShellState};
use crate::keeper::last_moment::{LONGEST_LOOK, LastMoment, Now};

#[derive(Debug)]
pub struct Running {
    pub process: Process,
    pub streams: Streams,
    /// Where its input can be written, if that is still possible.
    pub input: Option<Arc<Input>>,
    pub denials: Denials,
    /// The network of its session, if that has one of its own.
    pub network: Option<Arc<OwnNetwork>>,
    pub(super) channel: StateChannel,
    /// Authenticates what comes over the channel.
    pub(super) nonce: String,
    /// The state that its shell began with, if its text is plain: it ends with the same one and reports only that it ends.
    pub(super) unchanged: Option<ShellState>,
    /// Shows how a plain text ended before its reaper tells.
    pub(super) last_moment: Option<LastMoment>,
}

/// Where its output goes.
#[derive(Clone, Debug)]
pub enum Streams {
    Pipes {
        stdout: Recording,
        stderr: Recording,
    },
    /// The screen, and every byte that was drawn on it.
    Terminal {
        terminal: Terminal,
        raw: Recording,
    },
}

/// Why a call stopped waiting for a command.
#[derive(Debug)]
pub enum Ending {
    /// The command exited. `report` is what its shell said. It is missing when the shell died or reported nothing.
    Exited { exited: Exited, report: Option<ShellReport> },
    /// A waiting shell found its directory removed or replaced, and ran nothing.
    Stale,
    /// Its reaper was killed, so the exit status is unknown.
    Lost,
    /// The time is up; the command still runs.
    TimeUp,
    /// The client cancelled the call; the whole tree has ended.
    Cancelled,
}

/// Reading the channel while the command writes it costs a wake-up per line. A command that ends sooner than this is
/// read once, at its end.
const BEFORE_THE_CHANNEL_IS_READ: Duration = Duration::from_millis(20);
/// After the exit, other processes may still hold the pipes. Once a pipe has been silent for this long, it is drained.
const QUIET: Duration = Duration::from_millis(100);
const LONGEST_DRAIN: Duration = Duration::from_millis(500);

impl Running {
    /// Waits for the first of exit, cancel and timeout. After a cancel the tree has ended; after a timeout it still runs.
    pub async fn finish(&mut self, timeout: Option<Duration>, cancel: &CancellationToken) -> Ending {
        let limit = async {
            match timeout {
                Some(limit) => tokio::time::sleep(limit).await,
                None => std::future::pending().await,
            }
        };
        let exited = self.process.exited();
        let exited = async {
            tokio::pin!(exited);
            if let Some(moment) = self.last_moment.take() {
                tokio::select! {
                    biased;
                    exited = &mut exited => return exited,
                    () = self.channel.end_announced() => {}
                    () = tokio::time::sleep(BEFORE_THE_CHANNEL_IS_READ) => {}
                }
                if let Some(status) = seen_in(&moment).await {
                    return Some(self.process.seen_exiting(status));
                }
            }
            if let Ok(exited) = tokio::time::timeout(BEFORE_THE_CHANNEL_IS_READ, &mut exited).await {
                return exited;
            }
            drop(self.channel.begin());
            exited.await
        };
        let exited = tokio::select! {
            biased;
            exited = exited => exited,
            () = cancel.cancelled() => {
                self.process.terminate().await;
                return Ending::Cancelled;
            }
            // The server itself may have been stopped for longer than the command ran.
            () = limit => match self.process.exited_by_now().await {
                Some(exited) => Some(exited),
                None => return Ending::TimeUp,
            },
        };
        match exited {
            Some(exited) => {
                if exited.alone {
                    self.streams.complete().await;
                } else {
                    self.streams.drain().await;
                }
                self.exited(exited).await
            }
            None => Ending::Lost,
        }
    }

    async fn exited(&mut self, exited: Exited) -> Ending {
        let bytes = self.channel.take().await;
        if bytes == STALE.as_bytes() {
            return Ending::Stale;
        }
        // A shell that was told to die may still report. That is not a state the agent asked for.
        let died = matches!(exited.status, ExitStatus::Signal(_));
        let report = match self.unchanged.take() {
            Some(state) => {
                let cwd_is_gone = bytes.strip_suffix(GONE.as_bytes()).is_some_and(|rest| rest == self.nonce.as_bytes());
                cwd_is_gone.then_some(ShellReport { state, cwd_is_gone })
            }
            None => ShellReport::parse(&bytes, &self.nonce),
        };
        let report = report.filter(|_| !died);
        Ending::Exited { exited, report }
    }

    /// Ends the whole tree (see [`Process::stop`]) and says how the command itself ended. `None` if nobody knows: a process
    /// that hangs in the kernel reports nothing.
    pub async fn end(&self) -> Option<Exited> {
        self.process.terminate().await;
        self.streams.drain().await;
        self.process.exited_by_now().await
    }
}

/// The exit status of a command that ends in this moment.
async fn seen_in(moment: &LastMoment) -> Option<ExitStatus> {
    let begun = Instant::now();
    while begun.elapsed() < LONGEST_LOOK {
        match moment.now()? {
            Now::Ended(status) => return status,
            // It may need our processor to go on, and other calls may need this thread.
            Now::Lives => rustix::thread::sched_yield(),
        }
        tokio::task::yield_now().await;
    }
    None
}

impl Streams {
    /// The line that a person would look at: a terminal's cursor line, or the last line of output.
    pub fn last_line(&self) -> String {
        const TAIL: usize = 4096;
        let last = |recording: &Recording| {
            let text = super::clean(&recording.get().spill.end(TAIL));
            text.trim_end().lines().last().unwrap_or_default().to_owned()
        };
        match self {
            Self::Terminal { terminal, .. } => terminal.cursor_line(),
            Self::Pipes { stdout, stderr } => {
                let out = last(stdout);
                if out.is_empty() { last(stderr) } else { out }
            }
        }
    }

    /// Reads what was written before the end of the last process that could write.
    async fn complete(&self) {
        match self {
            Self::Pipes { stdout, stderr } => {
                tokio::join!(stdout.complete(), stderr.complete());
            }
            Self::Terminal { raw, .. } => raw.complete().await,
        }
    }

    /// Reads what was written before the end. Other holders of the pipes may go on; we do not wait for them.
    pub async fn drain(&self) {
        match self {
            Self::Pipes { stdout, stderr } => {
                tokio::join!(stdout.drained(QUIET, LONGEST_DRAIN), stderr.drained(QUIET, LONGEST_DRAIN));
            }
            Self::Terminal { raw, .. } => raw.drained(QUIET, LONGEST_DRAIN).await,
        }
    }
}
