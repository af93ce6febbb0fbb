//! The waiting shells of a session: started while the agent thinks, taken by the next commands, and given back by those that
//! leave them as they were.
//!
//! An agent that thinks between its calls needs one. A client that calls again at once, or several times at once, finds none
//! ready, and from then on the session keeps one more each time. It starts the next ones while commands run, unless every
//! processor already has a command: then the answers come first.

use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, Semaphore, SemaphorePermit};
use tokio_util::task::AbortOnDropHandle;

use crate::base::locks::LockExt;
use crate::exec::{ShellState, WaitingShell};

/// The answer of the last command goes out first.
const PAUSE: Duration = Duration::from_millis(1);
/// A session that has run nothing for so long gives its waiting shell up.
const KEPT: Duration = Duration::from_mins(5);
/// The same for shells beyond the first.
const KEPT_BEYOND_ONE: Duration = Duration::from_secs(2);
/// How many a session keeps.
const MOST: usize = 8;
/// The shells beyond the first of all sessions together.
static BEYOND_ONE: Semaphore = Semaphore::const_new(16);
/// How many commands calls of all sessions wait for.
static AWAITED: AtomicUsize = AtomicUsize::new(0);
/// A shell that has slept for so long is slow at first.
const SLEEP: Duration = Duration::from_millis(5);

#[derive(Clone, Debug, Default)]
pub struct WaitingShells(Arc<Mutex<Pool>>);

#[derive(Debug)]
struct Pool {
    /// All of them were started with the same state.
    slots: Vec<Slot>,
    /// How many were used at once lately.
    wanted: usize,
    /// When a command last found none ready.
    missed: Instant,
    count: u64,
    /// How many commands calls wait for.
    running: usize,
    /// Whether the last command left the state as it was. Only then a shell that starts while a command runs is of use
    /// for the next one.
    steady: bool,
}

/// A command that a call waits for.
#[derive(Debug)]
pub struct AwaitedCommand(WaitingShells);

#[derive(Debug)]
struct Slot {
    number: u64,
    /// The directory and the variables it was started with.
    state: Arc<ShellState>,
    shell: Shell,
    since: Instant,
    /// Ends the pause, for a command that comes before it is over.
    hurry: Arc<Notify>,
    /// Gives the shell up after a while.
    _expiring: AbortOnDropHandle<()>,
    _place: Option<SemaphorePermit<'static>>,
}

#[derive(Debug)]
enum Shell {
    Starting(AbortOnDropHandle<Option<WaitingShell>>),
    Ready(Box<WaitingShell>),
}

impl Shell {
    fn is_ready(&self) -> bool {
        match self {
            Self::Starting(task) => task.is_finished(),
            Self::Ready(_) => true,
        }
    }

    async fn ready(self) -> Option<WaitingShell> {
        match self {
            Self::Starting(task) => task.await.ok().flatten(),
            Self::Ready(shell) => Some(*shell),
        }
    }
}

impl Default for Pool {
    fn default() -> Self {
        Self { slots: Vec::new(), wanted: 1, missed: Instant::now(), count: 0, running: 0, steady: true }
    }
}

impl WaitingShells {
    /// Starts as many for that state as are wanted and not there yet, after a pause. Shells with another state are ended.
    pub fn prepare<F>(&self, state: &ShellState, start: impl Fn(Arc<ShellState>) -> F)
    where
        F: Future<Output = Option<WaitingShell>> + Send + 'static,
    {
        let mut pool = self.lock();
        pool.slots.retain(|slot| *slot.state == *state);
        if pool.missed.elapsed() > KEPT_BEYOND_ONE {
            pool.wanted = (pool.wanted - 1).max(1);
        }
        let shared = pool.slots.first().map_or_else(|| Arc::new(state.clone()), |slot| slot.state.clone());
        while pool.slots.len() < pool.wanted {
            let place = if pool.slots.is_empty() { None } else { BEYOND_ONE.try_acquire().ok() };
            if !pool.slots.is_empty() && place.is_none() {
                return;
            }
            let hurry = Arc::new(Notify::new());
            let shell = self.start_later(hurry.clone(), start(shared.clone()));
            let slot = self.slot(&mut pool.count, shared.clone(), shell, hurry, place);
            pool.slots.push(slot);
        }
    }

    /// Takes a shell that was started before the session had its first command, or that has run a command and stays. It ends if
    /// there are enough.
    pub fn put(&self, shell: WaitingShell) {
        let mut pool = self.lock();
        pool.slots.retain(|slot| *slot.state == *shell.state());
        let place = if pool.slots.is_empty() { None } else { BEYOND_ONE.try_acquire().ok() };
        if pool.slots.len() >= pool.wanted || (!pool.slots.is_empty() && place.is_none()) {
            return;
        }
        let state = pool.slots.first().map_or_else(|| Arc::new(shell.state().clone()), |slot| slot.state.clone());
        let slot = self.slot(&mut pool.count, state, Shell::Ready(Box::new(shell)), Arc::default(), place);
        pool.slots.push(slot);
    }

    /// A command has its shell and runs. If no other shell is ready, those that are to come start now and not after a pause.
    /// Returns whether more have to be prepared.
    pub fn hurry(&self) -> bool {
        let pool = self.lock();
        let any_is_ready = pool.slots.iter().any(|slot| slot.shell.is_ready());
        let in_demand = pool.wanted > 1 && pool.steady && !any_is_ready && pool.running < processors();
        if in_demand {
            pool.slots.iter().for_each(|slot| slot.hurry.notify_one());
        }
        in_demand
    }

    fn start_later(
        &self,
        hurried: Arc<Notify>,
        start: impl Future<Output = Option<WaitingShell>> + Send + 'static,
    ) -> Shell {
        let shells = self.clone();
        Shell::Starting(AbortOnDropHandle::new(tokio::spawn(async move {
            let is_busy = || shells.lock().running >= processors();
            while tokio::time::timeout(PAUSE, hurried.notified()).await.is_err() && is_busy() {}
            start.await
        })))
    }

    fn slot(
        &self,
        count: &mut u64,
        state: Arc<ShellState>,
        shell: Shell,
        hurry: Arc<Notify>,
        place: Option<SemaphorePermit<'static>>,
    ) -> Slot {
        *count += 1;
        let (number, shells) = (*count, self.clone());
        let expiring = tokio::spawn(async move {
            tokio::time::sleep(KEPT_BEYOND_ONE).await;
            if !shells.give_up(number, 1) {
                tokio::time::sleep(KEPT).await;
                shells.give_up(number, 0);
            }
        });
        let since = Instant::now();
        Slot { number, state, shell, since, hurry, _expiring: AbortOnDropHandle::new(expiring), _place: place }
    }

    /// Ends this shell, if more than so many are there.
    fn give_up(&self, number: u64, beyond: usize) -> bool {
        let mut pool = self.lock();
        let ends = pool.slots.len() > beyond;
        if ends {
            pool.slots.retain(|slot| slot.number != number);
            pool.wanted = pool.slots.len().max(1);
        }
        ends
    }

    /// A shell that was started with that state, for one command.
    pub async fn take(&self, state: &ShellState) -> Option<WaitingShell> {
        let slot = {
            let mut pool = self.lock();
            let fits = |slot: &Slot| *slot.state == *state;
            let ready = pool.slots.iter().position(|slot| fits(slot) && slot.shell.is_ready());
            if ready.is_none() && pool.count > 0 {
                pool.wanted = (pool.wanted + 1).min(MOST);
                pool.missed = Instant::now();
            }
            let index = ready.or_else(|| pool.slots.iter().position(fits))?;
            pool.slots.remove(index)
        };
        let Slot { hurry, shell, .. } = slot;
        hurry.notify_one();
        shell.ready().await
    }

    /// A command may come soon. Where every processor already has one, it would only take longer.
    pub fn wake(&self) {
        if AWAITED.load(Ordering::Relaxed) >= processors() {
            return;
        }
        let mut pool = self.lock();
        let next = pool.slots.iter_mut().find(|slot| slot.shell.is_ready());
        if let Some(Slot { shell: Shell::Ready(shell), since, .. }) = next
            && since.elapsed() > SLEEP
        {
            shell.wake();
        }
    }

    /// A command has ended, and has changed the state or not.
    pub fn ended(&self, steady: bool) {
        self.lock().steady = steady;
    }

    /// A call begins to wait for a command.
    pub fn await_command(&self) -> AwaitedCommand {
        self.lock().running += 1;
        AWAITED.fetch_add(1, Ordering::Relaxed);
        AwaitedCommand(self.clone())
    }

    /// Ends them, ready or not.
    pub fn end(&self) {
        self.lock().slots.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Pool> {
        self.0.locked()
    }
}

impl Drop for AwaitedCommand {
    fn drop(&mut self) {
        self.0.lock().running -= 1;
        AWAITED.fetch_sub(1, Ordering::Relaxed);
    }
}

fn processors() -> usize {
    static COUNT: LazyLock<usize> = LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));
    *COUNT
}
