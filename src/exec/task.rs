//! A command that outlives the call that started it.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use regex::Regex;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{Denials, Input, Process, Recording, Running, Streams, View, clean};

use crate::base::locks::LockExt;

/// Found by its id until its end has been read.
#[derive(Debug)]
pub struct Task {
    pub id: String,
    pub process: Process,
    pub streams: Streams,
    pub input: Option<Arc<Input>>,
    pub denials: Denials,
    finished: watch::Receiver<Option<Finished>>,
    marks: Mutex<Marks>,
}

#[derive(Clone, Copy, Debug)]
pub struct Finished {
    pub exit_code: i32,
    pub at: Instant,
}

/// How far each stream has been read.
#[derive(Clone, Copy, Debug, Default)]
struct Marks {
    stdout: u64,
    stderr: u64,
    touched: Option<Instant>,
}

/// What a wait is for, besides the task's end.
#[derive(Clone, Debug)]
pub enum Until {
    Exit,
    /// A match in output that has not been read yet.
    Pattern(Regex),
    /// A port of this machine accepts connections.
    Port(u16),
}

/// What ended a wait.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Waited {
    Exit,
    Pattern,
    Port,
    WaitsForInput,
    TimeUp,
    Cancelled,
}

/// Polling interval, for conditions that nothing signals.
const LOOK: Duration = Duration::from_millis(100);
/// A program counts as waiting for input only after this much silence.
const SILENCE: Duration = Duration::from_secs(1);
/// Bytes of unread output that a pattern is searched in.
const SEARCHED: u64 = 1 << 20;

impl Task {
    pub fn new(id: String, running: Running) -> Arc<Self> {
        let (sender, finished) = watch::channel(None);
        let Running { process, streams, input, denials, channel, nonce: _ } = running;
        let watched = (process.clone(), streams.clone(), input.clone());
        // Nobody wants a task's report, but its shell must be able to write it.
        drop(channel);
        tokio::spawn(async move {
            let (process, streams, input) = watched;
            // A reaper that was killed leaves no status; the tree was killed with it.
            let exit_code = process.exited().await.map_or(128 + libc::SIGKILL, |exited| exited.status.code());
            streams.drain().await;
            sender.send_replace(Some(Finished { exit_code, at: Instant::now() }));
            // An ended task may wait for long until it is read. It must not keep a descriptor.
            process.gone().await;
            if let Some(input) = input {
                input.close().await;
            }
        });
        Arc::new(Self { id, process, streams, input, denials, finished, marks: Mutex::default() })
    }

    pub fn finished(&self) -> Option<Finished> {
        *self.finished.borrow()
    }

    pub async fn ended(&self) -> Option<Finished> {
        self.finished.clone().wait_for(Option::is_some).await.ok().and_then(|finished| *finished)
    }

    /// Everything so far counts as read.
    pub fn mark_read(&self) {
        let mut marks = self.lock();
        if let Streams::Pipes { stdout, stderr } = &self.streams {
            *marks = Marks { stdout: stdout.get().spill.length(), stderr: stderr.get().spill.length(), touched: None };
        }
        if let Streams::Terminal { raw, .. } = &self.streams {
            marks.stdout = raw.get().spill.length();
        }
        marks.touched = Some(Instant::now());
    }

    /// When it was last read or typed into.
    pub fn touched(&self) -> Option<Instant> {
        self.lock().touched
    }

    /// What came since the last read, bounded: stderr, then stdout (for a terminal, what was drawn).
    pub fn unread(&self, limit: usize) -> (View, View) {
        let marks = *self.lock();
        match &self.streams {
            Streams::Pipes { stdout, stderr } => {
                (view_from(stderr, marks.stderr, limit), view_from(stdout, marks.stdout, limit))
            }
            Streams::Terminal { raw, .. } => (View::new(limit), view_from(raw, marks.stdout, limit)),
        }
    }

    /// Waits until it ends, the condition holds, it waits for input, or the time is up.
    pub async fn wait(&self, until: &Until, limit: Duration, cancel: &CancellationToken) -> Waited {
        let condition = async {
            match until {
                Until::Exit => std::future::pending().await,
                Until::Pattern(pattern) => self.shows(pattern).await,
                Until::Port(port) => accepts(*port).await,
            }
        };
        tokio::select! {
            biased;
            waited = condition => waited,
            _ = self.ended() => Waited::Exit,
            () = cancel.cancelled() => Waited::Cancelled,
            () = self.waits_for_input() => Waited::WaitsForInput,
            () = tokio::time::sleep(limit) => Waited::TimeUp,
        }
    }

    /// Waits until new output has come and has been quiet for a moment, or the time is up.
    pub async fn settle(&self, limit: Duration) {
        const QUIET: Duration = Duration::from_millis(150);
        let before = self.bytes();
        let quiet = async {
            let mut last = before;
            loop {
                tokio::time::sleep(QUIET).await;
                let now = self.bytes();
                if self.finished().is_some() || (now != before && now == last) {
                    return;
                }
                last = now;
            }
        };
        let _ = tokio::time::timeout(limit, quiet).await;
    }

    /// The line that a person would look at: a terminal's cursor line, or the last line of output.
    pub fn prompt(&self) -> String {
        match &self.streams {
            Streams::Terminal { terminal, .. } => terminal.cursor_line(),
            Streams::Pipes { stdout, stderr } => {
                let last = |recording: &Recording| {
                    let text = tail_text(recording);
                    text.trim_end().lines().last().unwrap_or_default().to_owned()
                };
                let (out, err) = (last(stdout), last(stderr));
                if out.is_empty() { err } else { out }
            }
        }
    }

    /// Whether it takes input and waits for it right now.
    pub async fn is_waiting(&self) -> bool {
        self.input.is_some() && self.finished().is_none() && self.process.is_waiting().await
    }

    async fn waits_for_input(&self) {
        if self.input.is_none() {
            return std::future::pending().await;
        }
        let mut seen = self.bytes();
        let mut since = Instant::now();
        loop {
            tokio::time::sleep(LOOK * 2).await;
            let now = self.bytes();
            if now != seen {
                (seen, since) = (now, Instant::now());
            }
            // Ask twice: a busy program looks the same for a moment between two reads.
            if since.elapsed() >= SILENCE && self.process.is_waiting().await {
                tokio::time::sleep(LOOK).await;
                if self.bytes() == seen && self.process.is_waiting().await {
                    return;
                }
            }
        }
    }

    async fn shows(&self, pattern: &Regex) -> Waited {
        let mut searched = None;
        loop {
            let now = self.bytes();
            if searched != Some(now) {
                searched = Some(now);
                let marks = *self.lock();
                let found = match &self.streams {
                    Streams::Pipes { stdout, stderr } => {
                        pattern.is_match(&text_from(stdout, marks.stdout))
                            || pattern.is_match(&text_from(stderr, marks.stderr))
                    }
                    Streams::Terminal { terminal, raw } => {
                        pattern.is_match(&text_from(raw, marks.stdout)) || pattern.is_match(&terminal.screen())
                    }
                };
                if found {
                    return Waited::Pattern;
                }
            }
            // The last output of a task is searched before its end is reported.
            if self.finished().is_some() && self.bytes() == now {
                return Waited::Exit;
            }
            tokio::time::sleep(LOOK / 2).await;
        }
    }

    fn bytes(&self) -> u64 {
        match &self.streams {
            Streams::Pipes { stdout, stderr } => stdout.get().spill.seen() + stderr.get().spill.seen(),
            Streams::Terminal { raw, .. } => raw.get().spill.seen(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Marks> {
        self.marks.locked()
    }
}

async fn accepts(port: u16) -> Waited {
    loop {
        for host in ["127.0.0.1", "::1"] {
            if tokio::net::TcpStream::connect((host, port)).await.is_ok() {
                return Waited::Port;
            }
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn view_from(recording: &Recording, from: u64, limit: usize) -> View {
    let mut view = View::new(limit);
    recording.each_piece(from, |bytes| view.push(bytes));
    view.finish();
    view
}

fn text_from(recording: &Recording, from: u64) -> String {
    let length = recording.get().spill.length();
    let mut bytes = Vec::new();
    recording.each_piece(from.max(length.saturating_sub(SEARCHED)), |piece| bytes.extend_from_slice(piece));
    clean(&bytes)
}

fn tail_text(recording: &Recording) -> String {
    const TAIL: usize = 4096;
    clean(&recording.get().spill.end(TAIL))
}
