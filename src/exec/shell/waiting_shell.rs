//! A shell that was started in advance and waits for its text. Most of a short command's time is spent starting bash; a
//! shell that has already started answers several times sooner.
//!
//! It is used only where the command cannot tell the difference: same cwd and variables, no stdin, and a text that does
//! not look at how its shell was started. Otherwise a fresh shell is started.
//!
//! After a text that can have left nothing behind in it but what the session keeps (`traces.rs`), the shell stays and waits for
//! the next one. Then its own word says how the text ended, together with the session's nonce. It stays only if no other process is
//! left. If one is, the server closes the pipe on which the shell waits, and the shell ends with that status.

use std::fs::File;
use std::io::{self, Seek};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::Duration;

use super::super::descriptor_limit::descriptors_left;
use super::super::output::{OutputListener, pipe};
use super::super::spawn::null;
use super::super::{Denials, KeeperError, KeeperLink, Place, Running, Streams};
use super::numbers::Numbers;
use super::shell::{Reports, memory_file};
use super::shell_report::{ShellReport, Stayed};
use super::traces::Traces;
use super::waiting_script::{self, Message};
use super::{ShellState, StateChannel};
use crate::gate::Permitted;
use crate::keeper::family::{Family, OutputFlags};
use crate::policy::action::RunCommand;

#[derive(Debug)]
pub struct WaitingShell {
    running: Running,
    again: Again,
}

/// What a shell needs to wait for a text.
#[derive(Debug)]
pub struct Again {
    /// `None` once the shell ends with the text that it runs.
    go: Option<OwnedFd>,
    text: File,
    /// Of its descriptors.
    numbers: Numbers,
    /// It has been told to wake up since its last text.
    awake: bool,
    keeper: Arc<KeeperLink>,
    state: ShellState,
    /// Shows whether other processes are left, and how they have left the pipes. `None` where the kernel does not show that.
    family: Option<(Family, OutputFlags)>,
    uses: u32,
    /// Of the text that it runs.
    traces: Traces,
    stayed: Option<Stayed>,
}

/// Words in a text that may look at what differs in a waiting shell: how it is traced, what it was called with.
const TELLTALES: [&str; 6] = ["set -", "xtrace", "BASH_EXECUTION_STRING", "BASH_ARGV", "caller", "__testudo"];
/// The keeper watches a shell's memory once it runs a command. Most commands have ended before that is worth telling.
pub const BEFORE_THE_KEEPER_WATCHES: Duration = Duration::from_millis(50);
/// bash keeps a little memory of everything that it runs.
const MOST_USES: u32 = 1000;
/// A shell that has printed more is not used again: the buffers for its output have grown.
const MOST_OUTPUT: u64 = 64 * 1024;
/// A longer text takes long anyway and would only be copied.
const LONGEST_TEXT: usize = 64 * 1024;
/// It takes up to 16 descriptors to start one, and a call takes about as many.
const NEEDED_DESCRIPTORS: u64 = 32;

impl WaitingShell {
    /// `None` for a shell that cannot wait (only bash can), and where the calls to come need the last descriptors.
    pub async fn start(place: &Place<'_>, keeper: &Arc<KeeperLink>) -> Result<Option<Self>, KeeperError> {
        let prepare = || -> std::io::Result<_> {
            let (channel, channel_end) = pipe()?;
            if descriptors_left(channel.as_fd()) < NEEDED_DESCRIPTORS {
                return Ok(None);
            }
            let (go_end, go) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
            let text = File::from(memory_file(c"text", b"")?);
            let shared = text.try_clone()?.into();
            let reports = Reports::State { nonce: place.nonce };
            let beginning = place.beginning(reports, place.state, channel_end);
            let numbers = beginning.numbers();
            let Some(command) = place.shell.waiting(beginning, shared, go_end)? else {
                return Ok(None);
            };
            let (streams, [stdout, stderr]) = place.recorded_pipes(None)?;
            let descriptors = [null()?, stdout, stderr].into_iter().chain(command.descriptors).collect();
            Ok(Some((streams, channel, command.start, descriptors, text, go, numbers)))
        };
        let Some((streams, channel, start, descriptors, text, go, numbers)) =
            prepare().map_err(KeeperError::Prepare)?
        else {
            return Ok(None);
        };
        let (process, opened) = keeper.start(&start, descriptors).await?;
        let family = Family::from_files(opened, process.pid);
        let channel = StateChannel::watched(channel).map_err(KeeperError::Prepare)?;
        let running = place.running(process, streams, channel);
        let again = Again {
            go: Some(go),
            text,
            numbers,
            awake: false,
            keeper: keeper.clone(),
            state: place.state.clone(),
            family,
            uses: 0,
            traces: Traces::default(),
            stayed: None,
        };
        Ok(Some(Self { running, again }))
    }

    /// Whether a text may run in a waiting shell instead of a fresh one.
    pub fn suits(text: &str) -> bool {
        text.len() <= LONGEST_TEXT && !TELLTALES.iter().any(|word| text.contains(word))
    }

    /// A call has come, and may bring a text soon. A process that has slept is slow at first, so the shell does its first steps
    /// while the server still looks at the call. At most one such message is in the pipe, so writing it never blocks.
    pub fn wake(&mut self) {
        if let (Some(go), false) = (&self.again.go, self.again.awake) {
            self.again.awake = rustix::io::write(go, &waiting_script::wake(&self.running.nonce)).is_ok();
        }
    }

    /// Whether a command that starts like this may run here.
    pub fn fits(&self, state: &ShellState, keeper: &Arc<KeeperLink>) -> bool {
        Arc::ptr_eq(&self.again.keeper, keeper) && self.again.state == *state && !self.running.process.is_gone()
    }

    /// Gives it its text. From here on it is a command like any other.
    pub fn run(self, permitted: &Permitted<RunCommand>, listener: Option<OutputListener>) -> io::Result<Running> {
        let Self { mut running, mut again } = self;
        // Not when the last text has ended: to report, bash puts the channel in the place of its output for a moment.
        if again.traces.programs && !again.family.as_ref().is_some_and(|(_, flags)| flags.are_as_before()) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        if let Streams::Pipes { stdout, stderr } = &running.streams {
            stdout.listen(listener.clone());
            stderr.listen(listener);
        }
        let text = &permitted.command;
        let traces = if again.family.is_some() { Traces::of(text, &again.state) } else { None };
        let Message { bytes, file } = waiting_script::message(text, traces.as_ref(), &running.nonce, again.numbers);
        if let Some(code) = file {
            again.text.set_len(0)?;
            again.text.write_all_at(code.as_bytes(), 0)?;
            again.text.rewind()?;
        }
        rustix::io::write(again.go.as_ref().ok_or(io::ErrorKind::BrokenPipe)?, &bytes)?;
        again.awake = false;
        if again.family.as_ref().is_some_and(|(family, _)| family.is_stopped()) {
            // Something stopped all shells of the session. It did not mean this command, which it did not know.
            let process = running.process.clone();
            tokio::spawn(async move { process.signal(libc::SIGCONT).await });
        }
        if let Some(traces) = traces {
            again.traces = traces;
            running.again = Some(again);
        } else {
            running.channel.unwatch();
            tokio::spawn(async move {
                tokio::time::sleep(BEFORE_THE_KEEPER_WATCHES).await;
                drop(again.go);
            });
        }
        Ok(running)
    }

    /// The shell that has run a command and stays, if it is as a new one. `place` is that of the command.
    pub fn again(mut running: Running, place: &Place<'_>) -> Option<Self> {
        let mut again = running.again.take()?;
        let (report, is_as_new) = again.stayed.take()?.report(&again.state, &again.traces);
        let Streams::Pipes { stdout, stderr } = &running.streams else { return None };
        let has_printed_a_lot = stdout.seen().max(stderr.seen()) > MOST_OUTPUT;
        again.uses += 1;
        let is_used_up = has_printed_a_lot || running.denials.has_told() || again.uses >= MOST_USES;
        if !is_as_new || is_used_up || again.go.is_none() {
            return None;
        }
        let [stdout, stderr] = [stdout, stderr].map(|stream| stream.again(place.directory.spill(), place.view()));
        let streams = Streams::Pipes { stdout: stdout?, stderr: stderr? };
        if let Some(report) = report {
            again.state = report.state;
        }
        let process = running.process.again();
        let denials = Denials::new(&again.keeper, &process, &again.state.cwd);
        Some(Self { running: Running { process, streams, denials, ..running }, again })
    }

    /// The directory and the variables that its next command starts with.
    pub fn state(&self) -> &ShellState {
        &self.again.state
    }
}

impl Again {
    pub fn keeper(&self) -> &Arc<KeeperLink> {
        &self.keeper
    }

    /// How many variables the shell reports.
    pub fn variables(&self) -> usize {
        self.traces.variables.len()
    }

    /// Whether the shell waits for another text after this one.
    pub fn waits(&self) -> bool {
        self.go.is_some()
    }

    /// Whether it has run its text and stays.
    pub fn stays(&self) -> bool {
        self.waits() && self.stayed.is_some()
    }

    /// Closing the pipe tells the keeper that this shell runs something, and the shell that it ends with its text.
    pub fn ends(&mut self) {
        self.go = None;
    }

    /// The shell has run its text. Returns whether it can stay: whether it waits, and nothing else is left.
    pub fn has_stayed(&mut self, stayed: Stayed) -> bool {
        let is_alone = || self.family.as_ref().is_some_and(|(family, _)| family.is_alone());
        let stays = self.go.is_some() && (!self.traces.programs || is_alone());
        self.stayed = Some(stayed);
        stays
    }

    /// What its text has changed. `bytes` are what came over the channel of a shell that has ended.
    pub fn report(&mut self, bytes: &[u8], nonce: &str) -> Option<ShellReport> {
        let stayed = self.stayed.take().or_else(|| Stayed::parse(bytes, nonce, self.variables()))?;
        let report = stayed.report(&self.state, &self.traces).0;
        self.stayed = Some(stayed);
        report
    }
}

#[cfg(test)]
#[path = "waiting_shell_tests.rs"]
mod tests;
