//! The commands that run now, for the people who watch.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use super::command_output::{CommandEnd, CommandOutput};
use super::digest::{Digests, digests, is_quick};
use super::kept_output::{self, Kept};
use super::record::CallRecord;
use crate::audit::{Event, Who};
use crate::base::locks::LockExt;
use crate::base::worker_threads;
use crate::exec::{Exited, Input, Process, Running, Streams};

#[derive(Debug, Default)]
pub struct Activity {
    next: AtomicU64,
    commands: Mutex<Vec<Arc<RunningCommand>>>,
    /// What ended commands have printed, while somebody watches: see [`Kept`].
    ended: Mutex<Kept>,
}

/// A command that runs, in a call or as a task.
#[derive(Debug)]
pub struct RunningCommand {
    /// Unique in the server: `c1`.
    pub id: String,
    pub who: Arc<Who>,
    pub command: String,
    pub cwd: PathBuf,
    pub description: Option<String>,
    pub since: SystemTime,
    pub process: Process,
    pub output: Arc<CommandOutput>,
    /// Where a person can type, if its input is open.
    pub input: Option<Arc<Input>>,
    typed: AtomicBool,
    record: CallRecord,
    task: Mutex<Option<String>>,
}

impl RunningCommand {
    /// The id of the task that it has become.
    pub fn task(&self) -> Option<String> {
        self.task.locked().clone()
    }

    /// A person types into it. This is recorded once: with an event for every key, the log would show the length of a
    /// password.
    pub fn person_types(&self, by: &str) {
        if !self.typed.swap(true, Ordering::Relaxed) {
            self.record.add(Event::Typed { process: self.id.clone(), by: by.to_owned() });
        }
    }
}

/// What a command is for those who watch.
#[derive(Clone, Debug)]
pub struct About {
    pub command: String,
    pub cwd: PathBuf,
    pub description: Option<String>,
}

/// Records the end of a command, and takes it off the list.
#[derive(Debug)]
pub struct Tracked {
    activity: Arc<Activity>,
    record: CallRecord,
    command: Arc<RunningCommand>,
    ended: bool,
}

impl Activity {
    pub fn commands(&self) -> Vec<Arc<RunningCommand>> {
        self.commands.locked().clone()
    }

    pub fn command(&self, id: &str) -> Option<Arc<RunningCommand>> {
        self.commands.locked().iter().find(|command| command.id == id).cloned()
    }

    /// What a command prints, also one that has ended not long ago.
    pub fn output(&self, id: &str) -> Option<Arc<CommandOutput>> {
        let ended = || self.ended.locked().find(id);
        self.command(id).map(|command| command.output.clone()).or_else(ended)
    }

    fn keep(self: &Arc<Self>, output: Arc<CommandOutput>) {
        self.ended.locked().add(output);
        let activity = self.clone();
        tokio::spawn(async move {
            for wait in kept_output::TIMES {
                tokio::time::sleep(wait).await;
                activity.ended.locked().forget();
            }
        });
    }

    /// A command has started.
    pub fn begin(self: &Arc<Self>, record: &CallRecord, about: About, running: &Running) -> Tracked {
        let About { command, cwd, description } = about;
        let id = format!("c{}", self.next.fetch_add(1, Ordering::Relaxed) + 1);
        let output = CommandOutput::new(&id, record.who(), running.streams.clone());
        let command = Arc::new(RunningCommand {
            id,
            who: record.who().clone(),
            command,
            cwd,
            description,
            since: SystemTime::now(),
            process: running.process.clone(),
            output: Arc::new(output),
            input: running.input.clone(),
            typed: AtomicBool::new(false),
            record: record.clone(),
            task: Mutex::default(),
        });
        self.commands.locked().push(command.clone());
        record.add(Event::ProcessStart {
            process: command.id.clone(),
            pid: running.process.pid,
            command: command.command.clone(),
            cwd: command.cwd.display().to_string(),
            description: command.description.clone(),
        });
        Tracked { activity: self.clone(), record: record.clone(), command, ended: false }
    }
}

impl Tracked {
    /// The command goes on as a task. Its end is recorded when it comes.
    pub fn becomes(self, task: &crate::exec::Task) {
        *self.command.task.locked() = Some(task.id.clone());
        self.record.add(Event::Background { process: self.command.id.clone(), task: task.id.clone() });
        let process = task.process.clone();
        tokio::spawn(async move {
            let exited = process.exited().await;
            self.command.output.streams.drain().await;
            self.end(exited.as_ref(), None);
        });
    }

    pub fn end(mut self, exited: Option<&Exited>, ended_by: Option<&'static str>) {
        self.ended(exited.map(|exited| exited.status.code()), ended_by);
    }

    fn ended(&mut self, exit_code: Option<i32>, ended_by: Option<&'static str>) {
        self.ended = true;
        let output = &self.command.output;
        let ended_by = ended_by.or_else(|| exit_code.is_none().then_some("lost"));
        let milliseconds = output.elapsed();
        if self.record.is_watched() {
            self.activity.keep(output.clone());
        }
        output.end(CommandEnd { exit_code, ended_by, milliseconds });
        self.activity.commands.locked().retain(|command| !Arc::ptr_eq(command, &self.command));
        let (stdout_bytes, stderr_bytes) = match &output.streams {
            Streams::Pipes { stdout, stderr } => (stdout.get().spill.seen(), stderr.get().spill.seen()),
            Streams::Terminal { raw, .. } => (raw.get().spill.seen(), 0),
        };
        let process = self.command.id.clone();
        let quick = is_quick(&output.streams);
        let Digests { stdout, stderr } = if quick { digests(&output.streams) } else { Digests::default() };
        self.record.add(Event::ProcessExit {
            process,
            exit_code,
            ended_by,
            milliseconds,
            stdout_bytes,
            stderr_bytes,
            stdout_sha256: stdout,
            stderr_sha256: stderr,
        });
        if !quick {
            self.digest_later();
        }
    }

    /// A long output is read on a thread of its own, and its digest is an event of its own. No call waits for it.
    fn digest_later(&self) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (output, record) = (self.command.output.clone(), self.record.clone());
        runtime.spawn(worker_threads::run(move || {
            let Digests { stdout, stderr } = digests(&output.streams);
            let process = output.id.clone();
            record.add(Event::Digest { process, stdout_sha256: stdout, stderr_sha256: stderr });
        }));
    }
}

impl Drop for Tracked {
    fn drop(&mut self) {
        if !self.ended {
            self.ended(None, None);
        }
    }
}
