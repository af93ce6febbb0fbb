//! A session's next shell, started while the agent thinks.

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::base::locks::LockExt;
use crate::exec::WarmShell;

/// At most one shell, ready or about to be.
#[derive(Clone, Debug, Default)]
pub struct NextShell {
    slot: Arc<Mutex<Option<Slot>>>,
    count: Arc<AtomicU64>,
}

#[derive(Debug)]
struct Slot {
    number: u64,
    starting: JoinHandle<Option<WarmShell>>,
    /// For a command that comes before the pause is over.
    hurry: Arc<Notify>,
}

/// The answer of the last command goes first.
const PAUSE: Duration = Duration::from_millis(1);

/// A session that rests for so long does without; its next command starts a fresh shell.
const KEPT: Duration = Duration::from_mins(5);

impl NextShell {
    /// Starts one unless there is one already.
    pub fn prepare(&self, start: impl Future<Output = Option<WarmShell>> + Send + 'static) {
        let mut slot = self.lock();
        if slot.is_some() {
            return;
        }
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let hurry = Arc::new(Notify::new());
        let hurried = hurry.clone();
        let starting = tokio::spawn(async move {
            let _ = tokio::time::timeout(PAUSE, hurried.notified()).await;
            start.await
        });
        *slot = Some(Slot { number, starting, hurry });
        let next = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(KEPT).await;
            let mut slot = next.lock();
            if slot.as_ref().is_some_and(|slot| slot.number == number) {
                *slot = None;
            }
        });
    }

    /// The shell, for one command.
    pub async fn take(&self) -> Option<WarmShell> {
        let mut slot = self.lock().take()?;
        slot.hurry.notify_one();
        (&mut slot.starting).await.ok().flatten()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Slot>> {
        self.slot.locked()
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.starting.abort();
    }
}
