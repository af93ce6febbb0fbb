//! The one path of every command: from a permit to how it ended. All tools that run something come through here, so that
//! each of them gets the same things: the session's keeper, the waiting shell, progress, the explanation of what the
//! sandbox denied, and the watch over protected names.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::activity::{About, Tracked};
pub use super::command_error::CommandError;
use super::tasks::{LimitReached, Reservation};
use super::waiting_shells::AwaitedCommand;
use super::{Context, Progress, Session, answers, granted};
use crate::exec::{
    self, Ending, Exited, KeeperError, KeeperLink, Place, Running, ShellState, Stdin, Streams, Task, WaitingShell,
};
use crate::gate::Permitted;
use crate::policy::action::{RunCommand, RunWords};

/// A permitted command, and what it starts with.
#[derive(Clone, Copy)]
pub struct Command<'a> {
    pub session: &'a Arc<Session>,
    pub what: What<'a>,
    /// The directory and the variables it starts with.
    pub state: &'a ShellState,
    pub stdin: Stdin<'a>,
    /// Whether the session takes over the directory and the variables that the shell ends with.
    pub moves_session: bool,
}

#[derive(Clone, Copy)]
pub enum What<'a> {
    /// Text for the shell.
    Text(&'a Permitted<RunCommand>),
    /// A program and its arguments, without a shell.
    Words(&'a Permitted<RunWords>),
}

/// How long a call waits for its command.
#[derive(Clone, Copy, Debug)]
pub struct TimeLimit {
    pub time: Duration,
    pub then: AtLimit,
    /// When to answer at the latest. The command goes on as a task with the rest of its time.
    pub answer_within: Option<Duration>,
}

impl TimeLimit {
    /// The command is ended when the time is up.
    pub fn end_after(time: Duration) -> Self {
        Self { time, then: AtLimit::End, answer_within: None }
    }
}

/// What happens when the time is up.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AtLimit {
    /// The whole tree is ended.
    End,
    /// The command goes on as a task.
    Background,
}

/// What came of a command that a call waited for.
#[derive(Debug)]
pub struct Finished {
    pub how: How,
    /// As the session's commands see it.
    pub pid: i32,
    pub streams: Streams,
}

#[derive(Debug)]
pub enum How {
    /// It exited. `moved_to` is the session's new state, if it took one over. `lost_cwd` is the directory in which the
    /// shell ended, if that no longer exists: the session is in the project directory then.
    Exited { exited: Exited, moved_to: Option<ShellState>, lost_cwd: Option<PathBuf> },
    /// Its time was up and the tree was ended. `full` says why it did not go on as a task, where that was wanted.
    TimedOut { exited: Option<Exited>, full: Option<LimitReached> },
    /// It goes on, because its time was up or the call had to be answered after this long.
    Background { task: Arc<Task>, after: Duration },
    /// The process that watched it was killed, so its exit status is unknown. The tree has ended.
    Lost,
}

impl Context {
    /// Runs a command and waits for its end.
    pub async fn run(&self, command: &Command<'_>, limit: TimeLimit) -> Result<Finished, CommandError> {
        self.answers_for_hosts(command.session);
        let progress = Progress::default();
        let listener = self.progress.is_some().then(|| progress.listener());
        let awaited = command.session.waiting_shells().await_command();
        let mut running = match self.use_waiting_shell(command, listener.clone()).await {
            Some(running) => running,
            None => Box::pin(self.start(command, listener.clone())).await?,
        };
        if command.session.waiting_shells().hurry() {
            self.prepare_waiting_shells(command, command.state);
            command.session.waiting_shells().hurry();
        }
        let mut tracked = self.track(command, &running);
        let first = limit.answer_within.unwrap_or(limit.time).min(limit.time);
        let mut ending = self.wait(command.session, &mut running, &progress, first).await;
        if matches!(ending, Ending::Stale) {
            // The waiting shell's directory was replaced. A fresh shell runs the text, or says what is wrong.
            tracked.end(None, Some("its directory was replaced"));
            running = Box::pin(self.start(command, listener)).await?;
            tracked = self.track(command, &running);
            ending = self.wait(command.session, &mut running, &progress, first).await;
        }
        let rest = limit.time.saturating_sub(first);
        if matches!(ending, Ending::TimeUp) && !rest.is_zero() {
            if let Ok(place) = command.session.tasks().reserve() {
                let ends_after = (limit.then == AtLimit::End).then_some(rest);
                let finished = self.go_on(place, (running, tracked), first, ends_after);
                self.prepare_next(command, awaited);
                return Ok(finished);
            }
            // There is no room for one more task. A late answer is better than a command that is ended early.
            ending = self.wait(command.session, &mut running, &progress, rest).await;
        }
        let finished = self.finished(command, (running, tracked), ending, limit).await;
        self.prepare_next(command, awaited);
        finished
    }

    /// Waits for the end of a command, this long at most. The client hears of its progress, and the person is asked about hosts.
    async fn wait(&self, session: &Arc<Session>, running: &mut Running, progress: &Progress, time: Duration) -> Ending {
        // On the heap, because this future is moved twice.
        let ending = Box::pin(running.finish(Some(time), &self.cancel));
        self.at_desk(session, progress.while_running(self.progress.clone(), ending)).await
    }

    /// The command goes on as a task, until its own limit.
    fn go_on(
        &self,
        place: Reservation,
        (running, tracked): (Running, Tracked),
        after: Duration,
        limit: Option<Duration>,
    ) -> Finished {
        let (pid, streams, denials) = (running.process.pid, running.streams.clone(), running.denials.clone());
        let task = place.fill(running);
        tracked.becomes(&task);
        end_after(&task, limit);
        self.started(&task);
        self.note_denials(&denials, &streams);
        Finished { how: How::Background { task, after }, pid, streams }
    }

    async fn finished(
        &self,
        command: &Command<'_>,
        (running, tracked): (Running, Tracked),
        ending: Ending,
        limit: TimeLimit,
    ) -> Result<Finished, CommandError> {
        let (pid, streams, denials) = (running.process.pid, running.streams.clone(), running.denials.clone());
        let how = match ending {
            Ending::Exited { exited, report } => {
                let (moved_to, lost_cwd) =
                    report.filter(|_| command.moves_session).map_or((None, None), |mut report| {
                        report.state = report.state.with_unreportable(command.state);
                        if command.has_grants() {
                            granted::take_back(&mut report.state, command.state);
                        }
                        let (state, lost_cwd) = command.session.take_over(report);
                        (Some(state), lost_cwd)
                    });
                tracked.end(Some(&exited), None);
                How::Exited { exited, moved_to, lost_cwd }
            }
            Ending::TimeUp if limit.then == AtLimit::Background => match command.session.tasks().reserve() {
                Ok(place) => return Ok(self.go_on(place, (running, tracked), limit.time, None)),
                Err(full) => timed_out(&running, tracked, Some(full)).await,
            },
            Ending::TimeUp => timed_out(&running, tracked, None).await,
            Ending::Lost | Ending::Stale => How::Lost,
            Ending::Cancelled => {
                tracked.end(running.process.exited_by_now().await.as_ref(), Some("cancelled"));
                return Err(CommandError::Cancelled);
            }
        };
        self.note_denials(&denials, &streams);
        if let Some(keeper) = running.keeper_to_stay_with()
            && let Some(shell) = WaitingShell::again(running, &self.place(command, &keeper))
        {
            command.session.waiting_shells().put(shell);
        }
        Ok(Finished { how, pid, streams })
    }

    /// Starts a command that outlives this call. `limit` is the time after which it is ended.
    pub async fn start_task(&self, command: &Command<'_>, limit: Option<Duration>) -> Result<Arc<Task>, CommandError> {
        let place = command.reserve()?;
        self.answers_for_hosts(command.session);
        let running = self.start(command, None).await?;
        let tracked = self.track(command, &running);
        let task = place.fill(running);
        tracked.becomes(&task);
        end_after(&task, limit);
        self.started(&task);
        Ok(task)
    }

    /// Starts permitted text in a terminal of its own, as a task.
    pub async fn start_terminal(
        &self,
        session: &Arc<Session>,
        permitted: &Permitted<RunCommand>,
        state: &ShellState,
        limit: Option<Duration>,
    ) -> Result<Arc<Task>, CommandError> {
        let what = What::Text(permitted);
        let command = Command { session, what, state, stdin: Stdin::Empty, moves_session: false };
        let place = command.reserve()?;
        self.answers_for_hosts(session);
        let started = in_time(async {
            let keeper = command.keeper().await?;
            let starting = session.names().command_starts().await;
            let running = exec::spawn_terminal(permitted, &self.place(&command, &keeper)).await?;
            command.end_grants(&running, keeper);
            Ok((running, starting))
        });
        let (running, _starting) = started.await?;
        session.keep(running.process.clone());
        let tracked = self.track(&command, &running);
        let task = place.fill(running);
        tracked.becomes(&task);
        end_after(&task, limit);
        self.started(&task);
        session.end_when_idle(&task, Duration::from_secs(self.server.config().exec.tasks.terminal_idle));
        Ok(task)
    }

    /// The connections of the command belong to this call. A command that has started may connect at once.
    fn answers_for_hosts(&self, session: &Arc<Session>) {
        if let Some(hosts) = session.hosts() {
            hosts.command_starts(self, session);
        }
    }

    /// Lists the command among those that run, and writes its start into the audit log.
    fn track(&self, command: &Command<'_>, running: &Running) -> Tracked {
        let about = match command.what {
            What::Text(permitted) => About {
                command: permitted.command.clone(),
                cwd: permitted.cwd.clone(),
                description: permitted.description.clone(),
            },
            What::Words(permitted) => {
                About { command: permitted.words.join(" "), cwd: permitted.cwd.clone(), description: None }
            }
        };
        self.server.activity().begin(&self.record, about, running)
    }

    async fn start(
        &self,
        command: &Command<'_>,
        listener: Option<exec::output::OutputListener>,
    ) -> Result<Running, KeeperError> {
        let started = in_time(async {
            let keeper = command.keeper().await?;
            let starting = command.session.names().command_starts().await;
            let place = self.place(command, &keeper);
            let running = match command.what {
                What::Text(permitted) => exec::spawn(permitted, &place, command.stdin, listener).await?,
                What::Words(permitted) => exec::spawn_words(permitted, &place, listener).await?,
            };
            command.end_grants(&running, keeper.clone());
            Ok((running, starting))
        });
        let (running, _starting) = started.await?;
        command.session.keep(running.process.clone());
        Ok(running)
    }

    /// The shell that waits for this command, if one does and the command could not tell the difference.
    async fn use_waiting_shell(
        &self,
        command: &Command<'_>,
        listener: Option<exec::output::OutputListener>,
    ) -> Option<Running> {
        let (What::Text(permitted), Stdin::Empty) = (command.what, command.stdin) else { return None };
        if command.has_grants() || !WaitingShell::suits(&permitted.command) {
            return None;
        }
        let ready = in_time(async {
            let keeper = command.keeper().await?;
            let shell = command.session.waiting_shells().take(command.state).await;
            let Some(shell) = shell.filter(|shell| shell.fits(command.state, &keeper)) else {
                return Ok(None);
            };
            Ok(Some((shell, command.session.names().command_starts().await)))
        });
        let (shell, _starting) = ready.await.ok()??;
        let running = shell.run(permitted, listener).ok()?;
        command.session.keep(running.process.clone());
        Some(running)
    }

    /// Starts the next shell while the agent reads the answer. The next command most likely starts where this one ended,
    /// or, where nothing persists, where this one started.
    fn prepare_next(&self, command: &Command<'_>, awaited: AwaitedCommand) {
        drop(awaited);
        let state = if command.moves_session { &command.session.state() } else { command.state };
        command.session.waiting_shells().ended(state == command.state);
        self.prepare_waiting_shells(command, state);
        self.server.prepare_session(command.session);
    }

    fn prepare_waiting_shells(&self, command: &Command<'_>, state: &ShellState) {
        if matches!(command.what, What::Words(_)) {
            return;
        }
        command.session.waiting_shells().prepare(state, |state| {
            let (server, session) = (self.server.clone(), command.session.clone());
            async move {
                if !answers(&state.cwd).await {
                    return None;
                }
                let keeper = session.keeper().await.ok()?;
                WaitingShell::start(&server.place(&session, &keeper, &state), &keeper).await.ok().flatten()
            }
        });
    }

    fn place<'a>(&'a self, command: &Command<'a>, keeper: &'a KeeperLink) -> Place<'a> {
        self.server.place(command.session, keeper, command.state)
    }
}

/// Nothing that happens before a command runs takes this long, unless it waits for a file system that does not answer.
const LONGEST_START: Duration = Duration::from_secs(30);

async fn in_time<T>(start: impl Future<Output = Result<T, KeeperError>>) -> Result<T, KeeperError> {
    tokio::time::timeout(LONGEST_START, start).await.unwrap_or(Err(KeeperError::TooSlow(LONGEST_START)))
}

async fn timed_out(running: &Running, tracked: Tracked, full: Option<LimitReached>) -> How {
    let exited = running.end().await;
    tracked.end(exited.as_ref(), Some("timeout"));
    How::TimedOut { exited, full }
}

fn end_after(task: &Task, limit: Option<Duration>) {
    let Some(limit) = limit else { return };
    let process = task.process.clone();
    tokio::spawn(async move {
        if tokio::time::timeout(limit, process.exited()).await.is_err() {
            process.terminate().await;
        }
    });
}

impl Command<'_> {
    /// The keeper for it, unless its directory is on a file system that does not answer: entering that would never end.
    async fn keeper(&self) -> Result<Arc<KeeperLink>, KeeperError> {
        if answers(&self.state.cwd).await {
            return if self.has_grants() {
                self.session.granted_keeper(self.grants()).await
            } else {
                self.session.keeper().await
            };
        }
        let error = std::io::Error::other("its file system does not answer");
        Err(KeeperError::WorkingDirectory { cwd: self.state.cwd.display().to_string(), error })
    }

    fn reserve(&self) -> Result<Reservation, CommandError> {
        let tasks = self.session.tasks();
        tasks.reserve().map_err(|full| CommandError::Full { full, tasks: tasks.ids() })
    }
}
