//! A shell that was started in advance and waits for its text. Most of a short command's time is spent starting bash; a
//! shell that has already started answers several times sooner.
//!
//! It is used only where the command cannot tell the difference: same cwd and variables, no stdin, and a text that does
//! not look at how its shell was started. Otherwise a fresh shell is started.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::Duration;

use super::super::descriptor_limit::descriptors_left;
use super::super::output::{OutputListener, pipe};
use super::super::spawn::null;
use super::super::{KeeperError, KeeperLink, Place, Running, Streams};
use super::plain_text::is_plain;
use super::shell::{Reports, go, memory_file};
use super::{ShellState, StateChannel};
use crate::gate::Permitted;
use crate::keeper::last_moment::LastMoment;
use crate::policy::action::RunCommand;

#[derive(Debug)]
pub struct WaitingShell {
    running: Running,
    text: File,
    go: OwnedFd,
    keeper: Arc<KeeperLink>,
    state: ShellState,
}

/// Words in a text that may look at what differs in a waiting shell: how it is traced, what it was called with.
const TELLTALES: [&str; 5] = ["set -", "xtrace", "BASH_EXECUTION_STRING", "BASH_ARGV", "caller"];
/// The keeper watches a shell's memory once it runs a command. Most commands have ended before that is worth telling.
const BEFORE_THE_KEEPER_WATCHES: Duration = Duration::from_millis(50);
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
            let Some(command) = place.shell.waiting(beginning, shared, go_end)? else {
                return Ok(None);
            };
            let (streams, [stdout, stderr]) = place.recorded_pipes(None)?;
            let descriptors = [null()?, stdout, stderr].into_iter().chain(command.descriptors).collect();
            Ok(Some((streams, channel, command.start, descriptors, text, go)))
        };
        let Some((streams, channel, start, descriptors, text, go)) = prepare().map_err(KeeperError::Prepare)? else {
            return Ok(None);
        };
        let (process, opened) = keeper.start(&start, descriptors).await?;
        let last_moment = LastMoment::from_files(opened, process.pid);
        let channel = StateChannel::watched(channel).map_err(KeeperError::Prepare)?;
        let running = Running { last_moment, ..place.running(process, streams, channel) };
        Ok(Some(Self { running, text, go, keeper: keeper.clone(), state: place.state.clone() }))
    }

    /// Whether a text may run in a waiting shell instead of a fresh one.
    pub fn suits(text: &str) -> bool {
        text.len() <= LONGEST_TEXT && !TELLTALES.iter().any(|word| text.contains(word))
    }

    /// Whether a command that starts like this may run here.
    pub fn fits(&self, state: &ShellState, keeper: &Arc<KeeperLink>) -> bool {
        Arc::ptr_eq(&self.keeper, keeper) && self.state == *state && !self.running.process.is_gone()
    }

    /// Gives it its text. From here on it is a command like any other.
    pub fn run(self, permitted: &Permitted<RunCommand>, listener: Option<OutputListener>) -> std::io::Result<Running> {
        if let Streams::Pipes { stdout, stderr } = &self.running.streams {
            stdout.listen(listener.clone());
            stderr.listen(listener);
        }
        let Self { mut running, text, go: shell, state, .. } = self;
        let plain = is_plain(&permitted.command, &state);
        let (message, complete) = go(&permitted.command, plain);
        if !complete {
            text.write_all_at(permitted.command.as_bytes(), 0)?;
        }
        rustix::io::write(&shell, &message)?;
        if plain {
            running.unchanged = Some(state);
            running.last_moment = running.last_moment.filter(LastMoment::shows_status);
        } else {
            running.last_moment = None;
            running.channel.unwatch();
        }
        tokio::spawn(async move {
            // Closing it tells the keeper that this shell runs something now.
            tokio::time::sleep(BEFORE_THE_KEEPER_WATCHES).await;
            drop(shell);
        });
        Ok(running)
    }
}
