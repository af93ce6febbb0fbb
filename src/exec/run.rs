//! A shell command from start to end.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::input::Input;
use super::process::{Exited, Process};
use super::report::Report;
use super::shell::memory_file;
use super::stream::{LineListener, Recording, pipe, record};
use super::terminal::Terminal;
use super::{Keeper, KeeperError, Settings, Shell, ShellState, Store, View, environment};
use crate::gate::Permitted;
use crate::keeper::protocol::Start;
use crate::policy::action::{RunCommand, RunWords};

/// Where a command is run and what it shares with the others of its session.
pub struct Place<'a> {
    pub keeper: &'a Keeper,
    pub shell: &'a Shell,
    pub store: &'a Store,
    pub settings: &'a Settings,
    pub nonce: &'a str,
    pub state: &'a ShellState,
}

/// What a command reads.
#[derive(Clone, Copy, Debug)]
pub enum Stdin<'a> {
    Empty,
    Text(&'a str),
    /// Stays open for what comes later.
    Open,
}

/// A command under way.
#[derive(Debug)]
pub struct Running {
    pub process: Process,
    pub streams: Streams,
    /// Where its input can be written, if that is still possible.
    pub input: Option<Arc<Input>>,
    pub(super) report: Report,
}

/// Where what it says goes.
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
    /// The time is up; it still runs.
    TimeUp,
    Cancelled,
}

/// A short command's report is read at its end only.
const BEFORE_A_REPORT_IS_READ: Duration = Duration::from_millis(20);
/// How long the pipes may stay quiet after the command has ended while somebody still holds them.
const QUIET: Duration = Duration::from_millis(100);
const LONGEST_DRAIN: Duration = Duration::from_millis(500);

/// Starts permitted shell text with pipes.
pub async fn spawn(
    permitted: &Permitted<RunCommand>,
    place: &Place<'_>,
    stdin: Stdin<'_>,
    listener: Option<LineListener>,
) -> Result<Running, KeeperError> {
    let prepare = || -> io::Result<_> {
        let (stdout_reader, stdout_end) = pipe()?;
        let (stderr_reader, stderr_end) = pipe()?;
        let stdout = record(place.store, view(place), stdout_reader, listener.clone())?;
        let stderr = record(place.store, view(place), stderr_reader, listener)?;
        let (input, stdin_end) = input_from(stdin)?;
        let (report, report_end) = pipe()?;
        let command = place.shell.command(&permitted.command, place.nonce, place.state, report_end)?;
        let descriptors = [stdin_end, stdout_end, stderr_end].into_iter().chain(command.descriptors).collect();
        Ok((Streams::Pipes { stdout, stderr }, input, report, command.start, descriptors))
    };
    let (streams, input, report, start, descriptors) = prepare().map_err(KeeperError::Prepare)?;
    let (process, _) = place.keeper.start(&start, descriptors).await?;
    Ok(Running { process, streams, input, report: Report::of(report) })
}

/// Starts one permitted program without a shell; a name without a slash is looked up in the PATH of its environment.
pub async fn spawn_words(permitted: &Permitted<RunWords>, place: &Place<'_>) -> Result<Running, KeeperError> {
    let name = permitted.words.first().cloned().unwrap_or_default();
    let missing = || KeeperError::Execute { program: name.clone(), error: io::ErrorKind::NotFound.into() };
    let program = environment::find_program(&place.state.environment, &name).ok_or_else(missing)?;
    let prepare = || -> io::Result<_> {
        let (stdout_reader, stdout_end) = pipe()?;
        let (stderr_reader, stderr_end) = pipe()?;
        let stdout = record(place.store, view(place), stdout_reader, None)?;
        let stderr = record(place.store, view(place), stderr_reader, None)?;
        let mut environment = place.state.environment.clone();
        environment.push(("PWD".into(), place.state.cwd.clone().into()));
        let start = Start {
            program: program.into(),
            arguments: permitted.words.iter().map(Into::into).collect(),
            environment,
            cwd: place.state.cwd.clone(),
            ..Start::default()
        };
        Ok((Streams::Pipes { stdout, stderr }, start, vec![null()?, stdout_end, stderr_end]))
    };
    let (streams, start, descriptors) = prepare().map_err(KeeperError::Prepare)?;
    let (process, _) = place.keeper.start(&start, descriptors).await?;
    Ok(Running { process, streams, input: None, report: Report::none() })
}

/// Starts permitted shell text in a terminal of its own.
pub async fn spawn_terminal(permitted: &Permitted<RunCommand>, place: &Place<'_>) -> Result<Running, KeeperError> {
    let settings = &place.settings.tasks;
    let mut state = place.state.clone();
    environment::for_terminal(&mut state.environment);
    let prepare = || -> io::Result<_> {
        let (report, report_end) = pipe()?;
        let command = place.shell.command(&permitted.command, place.nonce, &state, report_end)?;
        let mut descriptors: Vec<OwnedFd> = Vec::new();
        for _ in 0..3 {
            descriptors.push(null()?);
        }
        Ok((report, command.start, descriptors.into_iter().chain(command.descriptors).collect()))
    };
    let (report, mut start, descriptors) = prepare().map_err(KeeperError::Prepare)?;
    start.terminal = Some(settings.terminal_size());
    let (process, master) = place.keeper.start(&start, descriptors).await?;
    let master = master.ok_or_else(|| KeeperError::Prepare(io::Error::other("the keeper sent no terminal")))?;
    let connect = || -> io::Result<_> {
        rustix::io::ioctl_fionbio(&master, true)?;
        let input = Arc::new(Input::new(master.try_clone()?)?);
        let (terminal, mut answers) = Terminal::new(settings.terminal_size(), settings.scrollback_lines);
        let raw = record(place.store, view(place), master, Some(terminal.listener()))?;
        let answering = Arc::downgrade(&input);
        tokio::spawn(async move {
            while let (Some(answer), Some(input)) = (answers.recv().await, answering.upgrade()) {
                let _ = input.write(&answer).await;
            }
        });
        Ok((input, Streams::Terminal { terminal, raw }))
    };
    let (input, streams) = connect().map_err(KeeperError::Prepare)?;
    Ok(Running { process, streams, input: Some(input), report: Report::of(report) })
}

impl Running {
    /// Waits for the end, whichever comes first. A cancelled tree has ended when this returns; one whose time is up is
    /// still there.
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
            if let Ok(exited) = tokio::time::timeout(BEFORE_A_REPORT_IS_READ, &mut exited).await {
                return exited;
            }
            self.report.begin();
            exited.await
        };
        tokio::select! {
            biased;
            exited = exited => match exited {
                Some(exited) => {
                    self.streams.drain().await;
                    Ending::Exited { exited, report: self.report.take().await }
                }
                None => Ending::Lost,
            },
            () = cancel.cancelled() => {
                self.process.terminate().await;
                Ending::Cancelled
            }
            () = limit => Ending::TimeUp,
        }
    }

    /// TERM, five seconds, KILL, for the whole tree; then how the command itself ended.
    pub async fn end(&self) -> Option<Exited> {
        self.process.terminate().await;
        self.streams.drain().await;
        self.process.exited().await
    }
}

impl Streams {
    /// What was written before the end is in the pipes already; who still holds them may go on, we do not wait for it.
    pub async fn drain(&self) {
        match self {
            Self::Pipes { stdout, stderr } => {
                tokio::join!(stdout.drained(QUIET, LONGEST_DRAIN), stderr.drained(QUIET, LONGEST_DRAIN));
            }
            Self::Terminal { raw, .. } => raw.drained(QUIET, LONGEST_DRAIN).await,
        }
    }
}

pub(super) fn view(place: &Place<'_>) -> View {
    View::new(place.settings.output.view_characters)
}

pub(super) fn null() -> io::Result<OwnedFd> {
    Ok(File::options().read(true).write(true).open("/dev/null")?.into())
}

/// Given text becomes a file in memory, so that nobody has to feed it; the end of the file is the end of the input.
fn input_from(stdin: Stdin<'_>) -> io::Result<(Option<Arc<Input>>, OwnedFd)> {
    match stdin {
        Stdin::Empty => Ok((None, null()?)),
        Stdin::Text(text) => Ok((None, memory_file(c"stdin", text.as_bytes())?)),
        Stdin::Open => {
            let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
            rustix::io::ioctl_fionbio(&writer, true)?;
            Ok((Some(Arc::new(Input::new(writer)?)), reader))
        }
    }
}
