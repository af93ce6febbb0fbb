//! Progress notifications of a command: one per line, at most twenty a second, and a heartbeat in silence.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::base::locks::LockExt;
use crate::exec::output::OutputListener;

/// Sends one notification to the client: the progress and the message.
pub type ProgressSink = Arc<dyn Fn(f64, String) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// Counts the lines of a command and tells the client, without ever slowing the command down.
#[derive(Clone, Default)]
pub struct Progress {
    lines: Arc<Mutex<Lines>>,
    changed: Arc<Notify>,
}

#[derive(Default)]
struct Lines {
    count: u64,
    /// Since the last notification; the newest `LONGEST_MESSAGE` bytes of it.
    unsent: Vec<u8>,
    /// Whether older lines were dropped from `unsent`.
    is_cut: bool,
    /// The beginning of a line whose end has not come yet.
    partial: Vec<u8>,
}

/// From one message to the next, and from the beginning to the first: a command that ends before is never delayed.
const BETWEEN: Duration = Duration::from_millis(50);
const HEARTBEAT: Duration = Duration::from_secs(5);
/// A client that reads a message together with the answer takes it for an error: "unknown token". Most commands end right
/// after their last line, so a line is told so much later, unless the answer has it by then.
const HELD: Duration = Duration::from_millis(10);
/// The answer follows the last message by this much, so that clients read them one after the other.
const APART: Duration = Duration::from_millis(10);
const LONGEST_MESSAGE: usize = 4096;

impl Progress {
    /// Hands every piece of a command's output to this.
    pub fn listener(&self) -> OutputListener {
        let progress = self.clone();
        Arc::new(move |bytes: &[u8]| progress.add(bytes))
    }

    fn add(&self, bytes: &[u8]) {
        let mut lines = self.lines.locked();
        if lines.add(bytes) {
            self.changed.notify_one();
        }
    }

    /// Tells the client until the work is done. What it has not been told then, it reads in the answer: clients take progress
    /// that arrives beside the answer for an error.
    pub async fn while_running<T>(&self, sink: Option<ProgressSink>, work: impl Future<Output = T>) -> T {
        let Some(sink) = sink else { return work.await };
        let done = CancellationToken::new();
        let finishing = async {
            let _done = done.clone().drop_guard();
            work.await
        };
        let (result, last) = tokio::join!(finishing, self.tell(&sink, &done));
        if let Some(last) = last {
            tokio::time::sleep_until(last + APART).await;
        }
        result
    }

    /// Returns when it told something last.
    async fn tell(&self, sink: &ProgressSink, done: &CancellationToken) -> Option<Instant> {
        let (mut told, mut beats, begun, mut last) = (0.0, 0_u32, Instant::now(), None);
        let mut last_line = "still running".to_owned();
        loop {
            let silent = tokio::select! {
                biased;
                () = done.cancelled() => return last,
                () = self.changed.notified() => false,
                () = tokio::time::sleep(HEARTBEAT) => true,
            };
            let held = HELD.max(BETWEEN.saturating_sub(begun.elapsed()));
            if !silent && tokio::time::timeout(held, done.cancelled()).await.is_ok() {
                return last;
            }
            if let Some((count, message)) = self.take() {
                (told, beats) = (count, 0);
                message.lines().next_back().unwrap_or_default().clone_into(&mut last_line);
                sink(count, message).await;
                last = Some(Instant::now());
                let _ = tokio::time::timeout(BETWEEN, done.cancelled()).await;
            } else if silent {
                beats += 1;
                // Approaches the next whole number and never reaches it, so that progress always rises.
                let message = format!("{last_line} ({} s)", begun.elapsed().as_secs());
                sink(told + 1.0 - 1.0 / f64::from(beats + 1), message).await;
                last = Some(Instant::now());
            }
        }
    }

    fn take(&self) -> Option<(f64, String)> {
        let mut lines = self.lines.locked();
        if lines.unsent.is_empty() {
            return None;
        }
        let unsent = std::mem::take(&mut lines.unsent);
        let text = crate::exec::clean(whole_lines(&unsent, std::mem::take(&mut lines.is_cut)));
        #[expect(clippy::cast_precision_loss, reason = "nobody counts 2^53 lines")]
        Some((lines.count as f64, text.trim_end_matches('\n').to_owned()))
    }
}

impl Lines {
    /// Whether a line was completed.
    fn add(&mut self, bytes: &[u8]) -> bool {
        let Some(last) = memchr::memrchr(b'\n', bytes) else {
            keep_newest(&mut self.partial, bytes);
            return false;
        };
        self.count += memchr::memchr_iter(b'\n', bytes).count() as u64;
        let begun = std::mem::take(&mut self.partial);
        self.is_cut |= keep_newest(&mut self.unsent, &begun);
        self.is_cut |= keep_newest(&mut self.unsent, &bytes[..=last]);
        keep_newest(&mut self.partial, &bytes[last + 1..]);
        true
    }
}

/// Whether something had to be dropped.
fn keep_newest(kept: &mut Vec<u8>, bytes: &[u8]) -> bool {
    let skipped = bytes.len().saturating_sub(LONGEST_MESSAGE);
    kept.extend_from_slice(&bytes[skipped..]);
    let surplus = kept.len().saturating_sub(LONGEST_MESSAGE);
    kept.drain(..surplus);
    skipped + surplus > 0
}

/// Without the line whose beginning was dropped, unless there is no other.
fn whole_lines(bytes: &[u8], is_cut: bool) -> &[u8] {
    let end = memchr::memchr(b'\n', bytes).map_or(bytes.len(), |end| end + 1);
    if is_cut && end < bytes.len() { &bytes[end..] } else { bytes }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Seen = Arc<Mutex<Vec<(f64, String)>>>;

    fn collected() -> (ProgressSink, Seen) {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let inner = seen.clone();
        let sink: ProgressSink = Arc::new(move |count, message| {
            inner.lock().unwrap().push((count, message));
            Box::pin(std::future::ready(()))
        });
        (sink, seen)
    }

    #[tokio::test(start_paused = true)]
    async fn slow_lines_come_one_by_one_fast_ones_together_and_silence_beats() {
        let (sink, seen) = collected();
        let progress = Progress::default();
        let worker = progress.clone();
        progress
            .while_running(Some(sink), async move {
                worker.add(b"one\n");
                tokio::time::sleep(Duration::from_millis(200)).await;
                worker.add(b"two\nth");
                tokio::time::sleep(Duration::from_millis(10)).await;
                worker.add(b"ree\n");
                worker.add(b"four\n");
                tokio::time::sleep(Duration::from_secs(11)).await;
                worker.add(b"five\n");
                tokio::time::sleep(HELD + Duration::from_millis(1)).await;
                worker.add(b"the answer has it\n");
            })
            .await;
        let seen = seen.lock().unwrap().clone();
        let told: Vec<(f64, &str)> = seen.iter().map(|(count, message)| (*count, message.as_str())).collect();
        assert_eq!(told[0], (1.0, "one"));
        assert_eq!(told[1], (2.0, "two"));
        assert_eq!(told[2], (4.0, "three\nfour"));
        assert_eq!((told[3].1, told[4].1), ("four (5 s)", "four (10 s)"));
        assert_eq!(told[5..], [(5.0, "five")]);
        assert!(told.windows(2).all(|pair| pair[0].0 < pair[1].0), "{told:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_message_and_the_answer_are_apart() {
        // Milliseconds that the work goes on after its only line, whether it is told, and when the answer comes.
        for (after, is_told, answered) in [(0, false, 0), (49, false, 49), (52, true, 60), (70, true, 70)] {
            let (sink, seen) = collected();
            let progress = Progress::default();
            let (worker, begun) = (progress.clone(), Instant::now());
            let work = async move {
                worker.add(b"one\n");
                tokio::time::sleep(Duration::from_millis(after)).await;
            };
            progress.while_running(Some(sink), work).await;
            assert_eq!(!seen.lock().unwrap().is_empty(), is_told, "{after}");
            assert_eq!(begun.elapsed().as_millis(), answered, "{after}");
        }
    }

    #[test]
    fn a_message_has_whole_lines() {
        let progress = Progress::default();
        for _ in 0..1000 {
            progress.add(b"0123456789\n");
        }
        let (count, message) = progress.take().unwrap();
        assert!(message.len() > 4000 && message.lines().all(|line| line == "0123456789"), "{count} {message}");
    }

    #[test]
    fn an_endless_line_costs_no_memory() {
        let progress = Progress::default();
        for _ in 0..1000 {
            progress.add(&[b'x'; 10_000]);
        }
        assert!(progress.lines.lock().unwrap().partial.len() <= LONGEST_MESSAGE);
    }
}
