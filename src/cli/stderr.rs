//! Stderr that never blocks. A client may start the server with a pipe as its stderr and never read from it. When the pipe is
//! full, a write to it would wait for ever, and the whole server with it.
//!
//! Lines go to a queue, and a thread writes them. If the queue is full, lines are dropped, and the next line that gets
//! through says how many.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Condvar, LazyLock, Mutex};
use std::time::Duration;

use crate::base::locks::LockExt;

/// The most bytes that wait for somebody to read them.
const LONGEST_QUEUE: usize = 256 * 1024;
const STACK: usize = 64 * 1024;

static STDERR: LazyLock<Option<&'static Queue>> = LazyLock::new(|| {
    let queue: &'static Queue = Box::leak(Box::default());
    let thread = std::thread::Builder::new().name("stderr".to_owned()).stack_size(STACK);
    thread.spawn(|| queue.write_to(&mut io::stderr())).ok().map(|_| queue)
});

#[derive(Debug, Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    lines: VecDeque<Vec<u8>>,
    bytes: usize,
    dropped: u64,
    /// The thread has taken lines and writes them now.
    writing: bool,
}

/// For each piece of the log; a piece is one or more whole lines.
#[derive(Debug)]
pub struct Stderr;

impl Write for Stderr {
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        match *STDERR {
            Some(queue) => queue.add(lines),
            // No thread could be started. It is better to risk a wait than to lose everything.
            None => io::stderr().write_all(lines)?,
        }
        Ok(lines.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Before the process ends: waits until everything is written, but not for a reader that does not read.
pub fn finish() {
    const LONGEST: Duration = Duration::from_millis(500);
    if let Some(queue) = *STDERR {
        let state = queue.state.locked();
        let _ = queue.changed.wait_timeout_while(state, LONGEST, |state| state.writing || !state.lines.is_empty());
    }
}

impl Queue {
    fn add(&self, lines: &[u8]) {
        let mut state = self.state.locked();
        if state.bytes + lines.len() > LONGEST_QUEUE {
            state.dropped += 1;
            self.changed.notify_all();
            return;
        }
        state.bytes += lines.len();
        state.lines.push_back(lines.to_owned());
        self.changed.notify_all();
    }

    /// Never returns.
    fn write_to(&self, output: &mut impl Write) {
        loop {
            let lines = self.next();
            // If stderr is closed, nothing can report it.
            let _ = output.write_all(&lines);
        }
    }

    fn next(&self) -> Vec<u8> {
        let mut state = self.state.locked();
        state.writing = false;
        self.changed.notify_all();
        while state.lines.is_empty() && state.dropped == 0 {
            state = self.changed.wait(state).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
        state.writing = true;
        let mut lines: Vec<u8> = std::mem::take(&mut state.lines).into_iter().flatten().collect();
        state.bytes = 0;
        match std::mem::take(&mut state.dropped) {
            0 => {}
            dropped => {
                let said =
                    format!("testudo: {dropped} lines were dropped here, because nobody read stderr for a while\n");
                lines.extend(said.into_bytes());
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_drops_lines_and_says_so_once() {
        let queue = Queue::default();
        let line = vec![b'x'; LONGEST_QUEUE / 2];
        for _ in 0..5 {
            queue.add(&line);
        }
        let written = String::from_utf8(queue.next()).unwrap();
        assert!(written.ends_with("testudo: 3 lines were dropped here, because nobody read stderr for a while\n"));
        assert_eq!(written.matches('x').count(), LONGEST_QUEUE);
        queue.add(b"next\n");
        assert_eq!(queue.next(), b"next\n");
    }
}
