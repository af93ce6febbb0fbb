//! The waiting shell of a session: started while the agent thinks, taken by the next command.

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::base::locks::LockExt;
use crate::exec::{ShellState, WaitingShell};

/// At most one shell, ready or about to be.
#[derive(Clone, Debug, Default)]
pub struct WaitingShells {
    slot: Arc<Mutex<Option<Slot>>>,
    count: Arc<AtomicU64>,
}

#[derive(Debug)]
struct Slot {
    number: u64,
    /// The directory and the variables it was started with.
    state: ShellState,
    starting: JoinHandle<Option<WaitingShell>>,
    /// Ends the pause, for a command that comes before it is over.
    hurry: Arc<Notify>,
    /// Gives the shell up after a while.
    expiring: JoinHandle<()>,
}

/// The answer of the last command goes out first.
const PAUSE: Duration = Duration::from_millis(1);

/// A session that has run nothing for so long gives its waiting shell up.
const KEPT: Duration = Duration::from_mins(5);

impl WaitingShells {
    /// Starts one for that state, unless there is one already.
    pub fn prepare(&self, state: ShellState, start: impl Future<Output = Option<WaitingShell>> + Send + 'static) {
        let mut slot = self.lock();
        if slot.as_ref().is_some_and(|slot| slot.state == state) {
            return;
        }
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let hurry = Arc::new(Notify::new());
        let hurried = hurry.clone();
        let starting = tokio::spawn(async move {
            let _ = tokio::time::timeout(PAUSE, hurried.notified()).await;
            start.await
        });
        let shells = self.clone();
        let expiring = tokio::spawn(async move {
            tokio::time::sleep(KEPT).await;
            shells.lock().take_if(|slot| slot.number == number);
        });
        *slot = Some(Slot { number, state, starting, hurry, expiring });
    }

    /// The shell that was started with that state, for one command.
    pub async fn take(&self, state: &ShellState) -> Option<WaitingShell> {
        let mut slot = self.lock().take_if(|slot| slot.state == *state)?;
        slot.hurry.notify_one();
        (&mut slot.starting).await.ok().flatten()
    }

    /// Ends it, ready or not.
    pub fn end(&self) {
        self.lock().take();
    }

    fn lock(&self) -> MutexGuard<'_, Option<Slot>> {
        self.slot.locked()
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.starting.abort();
        self.expiring.abort();
    }
}
