//! Waiting for a task: for its end, for its output, for a port, or until it wants input.

use std::time::{Duration, Instant};

use regex::Regex;
use tokio_util::sync::CancellationToken;

use super::Task;
use crate::exec::{OwnNetwork, Recording, Streams, clean};

/// What a wait is for, besides the task's end.
#[derive(Clone, Debug)]
pub enum Until {
    Exit,
    /// A match in output that has not been read yet. The echo of what was typed does not count.
    Pattern(Regex),
    /// A port accepts connections: in the session's own network, or on this machine if it has none.
    Port(u16),
}

/// What ended a wait.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum WaitEnd {
    Exit,
    Pattern,
    Port,
    WaitsForInput,
    /// A full-screen program has drawn its screen and has been quiet since.
    Quiet,
    TimeUp,
    Cancelled,
}

/// Polling interval, for conditions that nothing signals.
const LOOK: Duration = Duration::from_millis(100);
/// A program counts as waiting for input after this much silence.
const SILENCE: Duration = Duration::from_secs(1);
/// A program that redraws while it waits, such as `top`, is never silent. It counts as waiting if so many looks in a row say
/// so.
const LOOKS: u32 = 10;
/// A full-screen program that has been quiet for so long has drawn its screen.
const SCREEN_SILENCE: Duration = Duration::from_secs(3);
/// Bytes of unread output that a pattern is searched in.
const SEARCHED: u64 = 1 << 20;

impl Task {
    /// Waits until it ends, the condition holds, it waits for input, or the time is up.
    pub async fn wait(&self, until: &Until, limit: Duration, cancel: &CancellationToken) -> WaitEnd {
        let condition = async {
            match until {
                Until::Exit => std::future::pending().await,
                Until::Pattern(pattern) => self.shows(pattern).await,
                Until::Port(port) => accepts(*port, self.network.as_deref()).await,
            }
        };
        tokio::select! {
            biased;
            waited = condition => waited,
            _ = self.ended() => WaitEnd::Exit,
            () = cancel.cancelled() => WaitEnd::Cancelled,
            waited = self.wants_input() => waited,
            () = tokio::time::sleep(limit) => WaitEnd::TimeUp,
        }
    }

    /// After typing: waits until the program has taken the input and waits for more, or has ended. `before` is what
    /// [`crate::exec::Process::input_wait`] said before. A program that computes or sleeps does not wait for input.
    pub async fn takes_input(&self, before: Option<u32>) {
        loop {
            if self.finished().is_some() {
                return;
            }
            let (waiting, bytes) = (self.process.input_wait().await, self.bytes());
            tokio::time::sleep(LOOK / 2).await;
            let settled = waiting.is_some() && waiting != before && self.bytes() == bytes;
            if settled && self.process.input_wait().await == waiting {
                return;
            }
        }
    }

    async fn wants_input(&self) -> WaitEnd {
        if self.input.is_none() {
            return std::future::pending().await;
        }
        let mut seen = self.bytes();
        let mut since = Instant::now();
        let mut looks = 0;
        loop {
            tokio::time::sleep(LOOK * 2).await;
            let now = self.bytes();
            if now != seen {
                (seen, since) = (now, Instant::now());
            }
            // A busy program looks as if it waited for a moment between two reads, so one look is not enough.
            looks = if self.process.input_wait().await.is_some() { looks + 1 } else { 0 };
            if looks >= LOOKS || (looks >= 2 && since.elapsed() >= SILENCE) {
                return WaitEnd::WaitsForInput;
            }
            let full_screen = matches!(&self.streams, Streams::Terminal { terminal, .. } if terminal.is_full_screen());
            if full_screen && since.elapsed() >= SCREEN_SILENCE {
                return WaitEnd::Quiet;
            }
        }
    }

    async fn shows(&self, pattern: &Regex) -> WaitEnd {
        let mut searched = None;
        loop {
            let now = self.bytes();
            if searched != Some(now) {
                searched = Some(now);
                if self.new_texts().iter().any(|text| pattern.is_match(text)) {
                    return WaitEnd::Pattern;
                }
            }
            // The last output of a task is searched before its end is reported.
            if self.finished().is_some() && self.bytes() == now {
                return WaitEnd::Exit;
            }
            tokio::time::sleep(LOOK / 2).await;
        }
    }

    /// The lines that were typed and have not been echoed since the last read.
    pub(super) fn typed_without_echo(&self) -> String {
        let marks = self.marks().clone();
        let Streams::Terminal { raw, .. } = &self.streams else { return String::new() };
        let shown = if marks.typed.is_empty() { String::new() } else { text_from(raw, marks.stdout) };
        let open = marks.typed.lines().filter(|line| !line.trim().is_empty() && !shown.contains(line.trim()));
        open.collect::<Vec<_>>().join("\n")
    }

    /// What has come since the last read. For a terminal also the lines of the screen that have changed: a full-screen
    /// program moves the cursor about, so its bytes do not read as text.
    fn new_texts(&self) -> Vec<String> {
        let marks = self.marks().clone();
        match &self.streams {
            Streams::Pipes { stdout, stderr } => {
                vec![text_from(stdout, marks.stdout), text_from(stderr, marks.stderr)]
            }
            Streams::Terminal { terminal, raw } => {
                let screen = terminal.screen();
                let changed: Vec<&str> =
                    screen.lines().filter(|line| !marks.screen.lines().any(|old| old == *line)).collect();
                [text_from(raw, marks.stdout), changed.join("\n")].map(|text| without_echo(text, &marks.typed)).to_vec()
            }
        }
    }
}

/// A terminal, or the program in it, shows what is typed. Each typed line is taken out once.
fn without_echo(text: String, typed: &str) -> String {
    let lines = typed.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.fold(text, |text, line| text.replacen(line, "", 1))
}

async fn accepts(port: u16, inside: Option<&OwnNetwork>) -> WaitEnd {
    while let Some(inside) = inside {
        if inside.listening().contains_key(&port) {
            return WaitEnd::Port;
        }
        tokio::time::sleep(LOOK).await;
    }
    loop {
        for host in ["127.0.0.1", "::1"] {
            if tokio::net::TcpStream::connect((host, port)).await.is_ok() {
                return WaitEnd::Port;
            }
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn text_from(recording: &Recording, from: u64) -> String {
    let length = recording.get().spill.length();
    let mut bytes = Vec::new();
    recording.each_piece(from.max(length.saturating_sub(SEARCHED)), |piece| bytes.extend_from_slice(piece));
    clean(&bytes)
}
