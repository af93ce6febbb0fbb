//! A command under way, and how a call waits for its end.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::output::Recording;
use super::process::{Exited, Process};
use super::shell::{Again, BEFORE_THE_KEEPER_WATCHES, STALE, StateChannel};
use super::terminal::Terminal;
use super::{Denials, ExitStatus, Input, KeeperLink, OwnNetwork, ShellReport};

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
    /// For a shell that stays and waits for the next text.
    pub(super) again: Option<Again>,
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
        let Self { process, channel, again, nonce, .. } = &mut *self;
        let exited = async {
            let exited = process.exited();
            tokio::pin!(exited);
            if let Some(again) = again {
                let stays = channel.stays(nonce, again.variables());
                tokio::pin!(stays);
                let keeper_watches = tokio::time::sleep(BEFORE_THE_KEEPER_WATCHES);
                tokio::pin!(keeper_watches);
                loop {
                    tokio::select! {
                        biased;
                        exited = &mut exited => return exited,
                        stayed = &mut stays => {
                            let status = stayed.status;
                            if again.has_stayed(stayed) {
                                return Some(process.stays(status));
                            }
                            again.ends();
                            return exited.await;
                        }
                        () = &mut keeper_watches, if again.waits() => again.ends(),
                    }
                }
            }
            if let Ok(exited) = tokio::time::timeout(BEFORE_THE_CHANNEL_IS_READ, &mut exited).await {
                return exited;
            }
            drop(channel.begin());
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

    /// The keeper of a shell that stays.
    pub fn keeper_to_stay_with(&self) -> Option<Arc<KeeperLink>> {
        self.again.as_ref().filter(|again| again.stays()).map(|again| again.keeper().clone())
    }

    async fn exited(&mut self, exited: Exited) -> Ending {
        // A shell that stays goes on to use its channel.
        let stays = self.again.as_ref().is_some_and(Again::stays);
        let bytes = if stays { Vec::new() } else { self.channel.take().await };
        if bytes == STALE.as_bytes() {
            return Ending::Stale;
        }
        // A shell that was told to die may still report. That is not a state the agent asked for.
        let died = matches!(exited.status, ExitStatus::Signal(_));
        let changed = self.again.as_mut().and_then(|again| again.report(&bytes, &self.nonce));
        let report = changed.or_else(|| ShellReport::parse(&bytes, &self.nonce)).filter(|_| !died);
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

    /// No call waits for the command any more.
    pub fn belong_to_task(&self) {
        match self {
            Self::Pipes { stdout, stderr } => [stdout, stderr].into_iter().for_each(Recording::belongs_to_task),
            Self::Terminal { raw, .. } => raw.belongs_to_task(),
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
