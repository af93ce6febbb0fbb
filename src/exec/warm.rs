//! The next shell, started in advance. Most of a short command's time is bash starting; a shell that has already started
//! and waits for its text answers several times sooner.
//!
//! It is used only where nobody could tell the difference: same cwd and variables, no stdin, and a text that does not look
//! at how it was started. Otherwise a fresh shell is started as ever.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::Duration;

use super::report::Report;
use super::run::{Streams, null, view};
use super::shell::{STALE, memory_file};
use super::stream::{LineListener, pipe, record};
use super::{Keeper, KeeperError, Place, Running, ShellState};
use crate::gate::Permitted;
use crate::policy::action::RunCommand;

/// A shell that waits for its text.
#[derive(Debug)]
pub struct WarmShell {
    running: Running,
    text: File,
    go: OwnedFd,
    keeper: Arc<Keeper>,
    state: ShellState,
}

/// What a text may look at that differs in a shell started in advance: how it is traced, what it was called with.
const TELLTALES: [&str; 5] = ["set -", "xtrace", "BASH_EXECUTION_STRING", "BASH_ARGV", "caller"];
const BEFORE_IT_IS_WATCHED: Duration = Duration::from_millis(50);
/// Longer texts gain little and would only be copied.
const LONGEST_TEXT: usize = 64 * 1024;

impl WarmShell {
    /// `None` where the shell cannot wait.
    pub async fn start(place: &Place<'_>, keeper: &Arc<Keeper>) -> Result<Option<Self>, KeeperError> {
        let prepare = || -> std::io::Result<_> {
            let (stdout_reader, stdout_end) = pipe()?;
            let (stderr_reader, stderr_end) = pipe()?;
            let (report, report_end) = pipe()?;
            let (go_end, go) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
            let text = File::from(memory_file(c"text", b"")?);
            let shared = text.try_clone()?.into();
            let Some(command) = place.shell.waiting(place.nonce, place.state, report_end, shared, go_end)? else {
                return Ok(None);
            };
            let stdout = record(place.store, view(place), stdout_reader, None)?;
            let stderr = record(place.store, view(place), stderr_reader, None)?;
            let descriptors = [null()?, stdout_end, stderr_end].into_iter().chain(command.descriptors).collect();
            Ok(Some((Streams::Pipes { stdout, stderr }, report, command.start, descriptors, text, go)))
        };
        let Some((streams, report, start, descriptors, text, go)) = prepare().map_err(KeeperError::Prepare)? else {
            return Ok(None);
        };
        let (process, _) = keeper.start(&start, descriptors).await?;
        let running = Running { process, streams, input: None, report: Report::of(report) };
        Ok(Some(Self { running, text, go, keeper: keeper.clone(), state: place.state.clone() }))
    }

    /// Whether this text may run here instead of in a fresh shell.
    pub fn fits(&self, permitted: &Permitted<RunCommand>, state: &ShellState, keeper: &Arc<Keeper>) -> bool {
        Arc::ptr_eq(&self.keeper, keeper)
            && self.state == *state
            && !self.running.process.is_gone()
            && permitted.command.len() <= LONGEST_TEXT
            && !TELLTALES.iter().any(|word| permitted.command.contains(word))
    }

    /// Gives it the text; from here on it is a command like any other.
    pub fn run(self, permitted: &Permitted<RunCommand>, listener: Option<LineListener>) -> std::io::Result<Running> {
        if let Streams::Pipes { stdout, stderr } = &self.running.streams {
            stdout.listen(listener.clone());
            stderr.listen(listener);
        }
        self.text.write_all_at(permitted.command.as_bytes(), 0)?;
        rustix::io::write(&self.go, b"g")?;
        let go = self.go;
        tokio::spawn(async move {
            // It tells the keeper that there is something to watch now; most commands have ended by then.
            tokio::time::sleep(BEFORE_IT_IS_WATCHED).await;
            drop(go);
        });
        Ok(self.running)
    }
}

/// Whether the shell found its directory removed or replaced, and ran nothing.
pub fn is_stale(report: &[u8]) -> bool {
    report == STALE.as_bytes()
}
