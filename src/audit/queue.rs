//! What waits to be written. The thread that calls a tool only puts an event in; it wakes the writer at most once in
//! [`GATHER`], because waking a thread costs more than everything else here.

use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::Entry;
use crate::base::locks::LockExt;

/// How long the writer lets events gather before it writes them together.
const GATHER: Duration = Duration::from_millis(10);
/// If the disk hangs, no more than this waits in memory.
const MOST_BYTES: usize = 32 << 20;

/// Told whether the entries before it were written.
pub type Receipt = oneshot::Sender<Result<(), String>>;

#[derive(Debug, Default)]
pub struct Queue {
    inner: Mutex<Inner>,
    wake: Condvar,
}

#[derive(Debug, Default)]
struct Inner {
    batch: Batch,
    bytes: usize,
    /// The writer waits for something to do, without a time limit.
    asleep: bool,
}

/// What the writer takes at once.
#[derive(Debug, Default)]
pub struct Batch {
    pub entries: Vec<Entry>,
    /// Somebody waits for the end of the writing.
    pub receipts: Vec<Receipt>,
    /// What was written has to be on the disk, too.
    pub sync: bool,
    /// Entries for which there was no room.
    pub lost: u64,
}

impl Batch {
    fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.receipts.is_empty() && self.lost == 0
    }
}

impl Queue {
    pub fn put(&self, entry: Entry) {
        let mut inner = self.inner.locked();
        let weight = entry.weight();
        if inner.bytes + weight > MOST_BYTES {
            inner.batch.lost += 1;
            return;
        }
        inner.bytes += weight;
        inner.batch.entries.push(entry);
        if std::mem::take(&mut inner.asleep) {
            self.wake.notify_one();
        }
    }

    /// Has everything written now that was put in before.
    pub fn hurry(&self, receipt: Receipt, sync: bool) {
        let mut inner = self.inner.locked();
        inner.batch.sync |= sync;
        inner.batch.receipts.push(receipt);
        inner.asleep = false;
        self.wake.notify_one();
    }

    /// Waits for work, lets more gather unless somebody waits, and takes it all. `None` if there is nothing by `until`.
    pub fn take(&self, until: Option<Instant>) -> Option<Batch> {
        let mut inner = self.inner.locked();
        while inner.batch.is_empty() {
            inner.asleep = true;
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            inner = match left {
                Some(Duration::ZERO) => {
                    inner.asleep = false;
                    return None;
                }
                Some(left) => self.wake.wait_timeout(inner, left).unwrap_or_else(std::sync::PoisonError::into_inner).0,
                None => self.wake.wait(inner).unwrap_or_else(std::sync::PoisonError::into_inner),
            };
        }
        inner.asleep = false;
        let end = Instant::now() + GATHER;
        while inner.batch.receipts.is_empty() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            inner = self.wake.wait_timeout(inner, left).unwrap_or_else(std::sync::PoisonError::into_inner).0;
        }
        inner.bytes = 0;
        Some(std::mem::take(&mut inner.batch))
    }
}
