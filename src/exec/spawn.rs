//! Starting a command: pipes or a terminal on our side, a request to the session's keeper on the other.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::input::Input;
use super::output::{OutputListener, View, pipe, record};
use super::shell::{Beginning, Reports, StateChannel, memory_file};
use super::terminal::Terminal;
use super::{
    Denials, KeeperError, KeeperLink, Process, Running, SessionDirectory, Settings, Shell, ShellState, Streams,
    environment,
};
use crate::base::search_path;
use crate::gate::Permitted;
use crate::keeper::protocol::Start;
use crate::policy::action::{RunCommand, RunWords};

/// Where a command is run and what it shares with the other commands of its session.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    pub keeper: &'a KeeperLink,
    pub shell: &'a Shell,
    pub directory: &'a SessionDirectory,
    pub settings: &'a Settings,
    pub nonce: &'a str,
    pub state: &'a ShellState,
}

/// What a command reads.
#[derive(Clone, Copy, Debug)]
pub enum Stdin<'a> {
    Empty,
    Text(&'a str),
    /// Stays open, for input that comes later.
    Open,
}

/// Starts permitted shell text with pipes.
pub async fn spawn(
    permitted: &Permitted<RunCommand>,
    place: &Place<'_>,
    stdin: Stdin<'_>,
    listener: Option<OutputListener>,
) -> Result<Running, KeeperError> {
    let prepare = || -> io::Result<_> {
        let (streams, [stdout, stderr]) = place.recorded_pipes(listener)?;
        let (input, stdin) = input_from(stdin)?;
        let (channel, channel_end) = pipe()?;
        let reports = Reports::State { nonce: place.nonce };
        let command = place.shell.command(&permitted.command, place.beginning(reports, place.state, channel_end))?;
        let descriptors = [stdin, stdout, stderr].into_iter().chain(command.descriptors).collect();
        Ok((streams, input, channel, command.start, descriptors))
    };
    let (streams, input, channel, start, descriptors) = prepare().map_err(KeeperError::Prepare)?;
    let (process, _) = place.keeper.start(&start, descriptors).await?;
    Ok(Running { input, ..place.running(process, streams, StateChannel::new(channel)) })
}

/// Starts one permitted program without a shell; a name without a slash is looked up in the PATH of its environment.
pub async fn spawn_words(
    permitted: &Permitted<RunWords>,
    place: &Place<'_>,
    listener: Option<OutputListener>,
) -> Result<Running, KeeperError> {
    let name = permitted.words.first().cloned().unwrap_or_default();
    let missing = || KeeperError::Execute { program: name.clone(), error: io::ErrorKind::NotFound.into() };
    let program = search_path::program(&place.state.environment, &name).ok_or_else(missing)?;
    let prepare = || -> io::Result<_> {
        let (streams, [stdout, stderr]) = place.recorded_pipes(listener)?;
        let mut environment = place.state.environment.to_vec();
        environment.push(("PWD".into(), place.state.cwd.clone().into()));
        let start = Start {
            program: program.into(),
            arguments: permitted.words.iter().map(Into::into).collect(),
            environment,
            cwd: place.state.cwd.clone(),
            ..Start::default()
        };
        Ok((streams, start, vec![null()?, stdout, stderr]))
    };
    let (streams, start, descriptors) = prepare().map_err(KeeperError::Prepare)?;
    let (process, _) = place.keeper.start(&start, descriptors).await?;
    Ok(place.running(process, streams, StateChannel::none()))
}

/// Starts permitted shell text in a terminal of its own.
pub async fn spawn_terminal(permitted: &Permitted<RunCommand>, place: &Place<'_>) -> Result<Running, KeeperError> {
    let settings = &place.settings.tasks;
    let mut state = place.state.clone();
    environment::for_terminal(&mut state.environment);
    let prepare = || -> io::Result<_> {
        let (channel, channel_end) = pipe()?;
        let command = place.shell.command(&permitted.command, place.beginning(Reports::Ready, &state, channel_end))?;
        let descriptors = [null()?, null()?, null()?].into_iter().chain(command.descriptors).collect();
        Ok((channel, command.start, descriptors))
    };
    let (channel, mut start, descriptors) = prepare().map_err(KeeperError::Prepare)?;
    start.terminal = Some(settings.terminal_size());
    let (process, opened) = place.keeper.start(&start, descriptors).await?;
    let master = opened
        .into_iter()
        .next()
        .ok_or_else(|| KeeperError::Prepare(io::Error::other("the keeper sent no terminal")))?;
    let (input, streams) = place.connect_terminal(master).map_err(KeeperError::Prepare)?;
    let mut channel = StateChannel::new(channel);
    let (ready, typed_into) = (channel.begin(), input.clone());
    tokio::spawn(async move {
        let _ = ready.await;
        typed_into.set_ready();
    });
    Ok(Running { input: Some(input), ..place.running(process, streams, channel) })
}

impl Place<'_> {
    pub(super) fn beginning<'a>(
        &'a self,
        reports: Reports<'a>,
        state: &'a ShellState,
        channel: OwnedFd,
    ) -> Beginning<'a> {
        Beginning { reports, state, channel, descriptor_limit: self.keeper.descriptor_limit() }
    }

    /// Two pipes that are recorded, and the ends that the command writes to: stdout, then stderr.
    pub(super) fn recorded_pipes(&self, listener: Option<OutputListener>) -> io::Result<(Streams, [OwnedFd; 2])> {
        let (stdout_reader, stdout_end) = pipe()?;
        let (stderr_reader, stderr_end) = pipe()?;
        let stdout = record(self.directory.spill(), self.view(), stdout_reader, listener.clone())?;
        let stderr = record(self.directory.spill(), self.view(), stderr_reader, listener)?;
        Ok((Streams::Pipes { stdout, stderr }, [stdout_end, stderr_end]))
    }

    /// A command that has just been started, without input.
    pub(super) fn running(&self, process: Process, streams: Streams, channel: StateChannel) -> Running {
        let denials = Denials::new(self.keeper, &process, &self.state.cwd);
        let network = self.keeper.network().cloned();
        Running { process, streams, input: None, denials, network, channel, nonce: self.nonce.to_owned(), again: None }
    }

    fn connect_terminal(&self, master: OwnedFd) -> io::Result<(Arc<Input>, Streams)> {
        let settings = &self.settings.tasks;
        rustix::io::ioctl_fionbio(&master, true)?;
        let input = Arc::new(Input::new(master.try_clone()?)?);
        let (terminal, mut replies) = Terminal::new(settings.terminal_size(), settings.scrollback_lines);
        let raw = record(self.directory.spill(), self.view(), master, Some(terminal.listener()))?;
        let replying = Arc::downgrade(&input);
        tokio::spawn(async move {
            while let (Some(reply), Some(input)) = (replies.recv().await, replying.upgrade()) {
                let _ = input.write(&reply).await;
            }
        });
        Ok((input, Streams::Terminal { terminal, raw }))
    }

    pub(super) fn view(&self) -> View {
        View::new(self.settings.output.view_characters)
    }
}

pub(super) fn null() -> io::Result<OwnedFd> {
    Ok(File::options().read(true).write(true).open("/dev/null")?.into())
}

/// Given text becomes a file in memory: the command reads it at its own pace, and the end of the file ends the input.
fn input_from(stdin: Stdin<'_>) -> io::Result<(Option<Arc<Input>>, OwnedFd)> {
    match stdin {
        Stdin::Empty => Ok((None, null()?)),
        Stdin::Text(text) => Ok((None, memory_file(c"stdin", text.as_bytes())?)),
        Stdin::Open => {
            let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
            rustix::io::ioctl_fionbio(&writer, true)?;
            let input = Arc::new(Input::new(writer)?);
            // A pipe keeps what is written until the program reads it.
            input.set_ready();
            Ok((Some(input), reader))
        }
    }
}
