//! What waits to be written. The thread that calls a tool only puts an event in. Waking the writer costs more than
//! everything else here, so it is woken at most once in [`GATHER`], and not while a call is being answered.

use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::Entry;
use crate::base::locks::LockExt;

/// Events gather for this long before the writer is woken.
pub const GATHER: Duration = Duration::from_millis(10);
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
    /// Somebody has undertaken to call [`Queue::wake`].
    waking: bool,
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
    /// Whether the caller has to see to it that [`Queue::wake`] is called within [`GATHER`].
    #[must_use]
    pub fn put(&self, entry: Entry) -> bool {
        let mut inner = self.inner.locked();
        let weight = entry.weight();
        if inner.bytes + weight > MOST_BYTES {
            inner.batch.lost += 1;
        } else {
            inner.bytes += weight;
            inner.batch.entries.push(entry);
        }
        !std::mem::replace(&mut inner.waking, true)
    }

    /// Has the writer take what has gathered.
    pub fn wake(&self) {
        self.inner.locked().waking = false;
        self.wake.notify_one();
    }

    /// Has everything written now that was put in before.
    pub fn hurry(&self, receipt: Receipt, sync: bool) {
        let mut inner = self.inner.locked();
        inner.batch.sync |= sync;
        inner.batch.receipts.push(receipt);
        self.wake.notify_one();
    }

    /// Waits until it is woken and takes what there is. `None` if there is nothing by `until`.
    pub fn take(&self, until: Option<Instant>) -> Option<Batch> {
        let mut inner = self.inner.locked();
        while inner.batch.is_empty() || (inner.waking && inner.batch.receipts.is_empty()) {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            inner = match left {
                Some(Duration::ZERO) if inner.batch.is_empty() => return None,
                Some(Duration::ZERO) => break,
                Some(left) => self.wake.wait_timeout(inner, left).unwrap_or_else(std::sync::PoisonError::into_inner).0,
                None => self.wake.wait(inner).unwrap_or_else(std::sync::PoisonError::into_inner),
            };
        }
        inner.bytes = 0;
        Some(std::mem::take(&mut inner.batch))
    }
}
