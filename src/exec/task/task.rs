//! A command that outlives the call that started it.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use tokio::sync::watch;

use crate::base::locks::LockExt;
use crate::exec::{Denials, Input, OwnNetwork, Process, Recording, Running, Streams, View};

/// Found by its id until its end has been read.
#[derive(Debug)]
pub struct Task {
    pub id: String,
    pub process: Process,
    pub streams: Streams,
    pub input: Option<Arc<Input>>,
    pub denials: Denials,
    pub(super) network: Option<Arc<OwnNetwork>>,
    finished: watch::Receiver<Option<TaskEnd>>,
    marks: Mutex<Marks>,
}

#[derive(Clone, Copy, Debug)]
pub struct TaskEnd {
    pub exit_code: i32,
    pub at: Instant,
}

/// How far it has been read, and what was typed since.
#[derive(Clone, Debug, Default)]
pub(super) struct Marks {
    pub stdout: u64,
    pub stderr: u64,
    /// A terminal's screen at the last read.
    pub screen: String,
    /// Its echo is no answer.
    pub typed: String,
    touched: Option<Instant>,
}

impl Task {
    pub fn new(id: String, running: Running) -> Arc<Self> {
        let (sender, finished) = watch::channel(None);
        // Without the rest, its shell ends with its text.
        let Running { process, streams, input, denials, network, channel, nonce: _, again: _ } = running;
        streams.belong_to_task();
        let watched = (process.clone(), streams.clone(), input.clone());
        // Nobody wants a task's report, but its shell must be able to write it.
        drop(channel);
        tokio::spawn(async move {
            let (process, streams, input) = watched;
            // A reaper that was killed leaves no status; the tree was killed with it.
            let exit_code = process.exited().await.map_or(128 + libc::SIGKILL, |exited| exited.status.code());
            streams.drain().await;
            sender.send_replace(Some(TaskEnd { exit_code, at: Instant::now() }));
            // An ended task may wait for long until it is read. It must not keep a descriptor.
            process.gone().await;
            if let Some(input) = input {
                input.close().await;
            }
        });
        Arc::new(Self { id, process, streams, input, denials, network, finished, marks: Mutex::default() })
    }

    pub fn finished(&self) -> Option<TaskEnd> {
        *self.finished.borrow()
    }

    pub async fn ended(&self) -> Option<TaskEnd> {
        self.finished.clone().wait_for(Option::is_some).await.ok().and_then(|finished| *finished)
    }

    /// Everything so far counts as read.
    pub fn mark_read(&self) {
        let touched = Some(Instant::now());
        // An echo that has not come yet is still no answer when it comes.
        let typed = self.typed_without_echo();
        let length = |recording: &Recording| recording.get().spill.length();
        *self.marks() = match &self.streams {
            Streams::Pipes { stdout, stderr } => {
                Marks { stdout: length(stdout), stderr: length(stderr), touched, ..Marks::default() }
            }
            Streams::Terminal { terminal, raw } => {
                Marks { stdout: length(raw), stderr: 0, screen: terminal.screen(), typed, touched }
            }
        };
    }

    /// When it was last read or typed into.
    pub fn touched(&self) -> Option<Instant> {
        let typed = self.input.as_ref().and_then(|input| input.typed());
        self.marks().touched.max(typed)
    }

    /// What came since the last read, bounded: stderr, then stdout (for a terminal, what was drawn).
    pub fn unread(&self, limit: usize) -> (View, View) {
        let marks = self.marks().clone();
        match &self.streams {
            Streams::Pipes { stdout, stderr } => {
                (view_from(stderr, marks.stderr, limit), view_from(stdout, marks.stdout, limit))
            }
            Streams::Terminal { raw, .. } => (View::new(limit), view_from(raw, marks.stdout, limit)),
        }
    }

    /// The line that a person would look at.
    pub fn prompt(&self) -> String {
        self.streams.last_line()
    }

    /// Whether it takes input and waits for it right now.
    pub async fn is_waiting(&self) -> bool {
        self.input.is_some() && self.finished().is_none() && self.process.input_wait().await.is_some()
    }

    /// Bytes of output so far.
    pub(super) fn bytes(&self) -> u64 {
        match &self.streams {
            Streams::Pipes { stdout, stderr } => stdout.get().spill.seen() + stderr.get().spill.seen(),
            Streams::Terminal { raw, .. } => raw.get().spill.seen(),
        }
    }

    pub(super) fn marks(&self) -> MutexGuard<'_, Marks> {
        self.marks.locked()
    }
}

fn view_from(recording: &Recording, from: u64, limit: usize) -> View {
    let mut view = View::new(limit);
    recording.each_piece(from, |bytes| view.push(bytes));
    view.finish();
    view
}
