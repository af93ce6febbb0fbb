//! Threads for work that blocks. The work is done even where no thread can be started any more (RLIMIT_NPROC, a container's
//! limit on processes): a thread that is alive takes it later, and if there is none, the caller does the work itself. Tokio's
//! own pool would leave it waiting for ever.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::locks::LockExt;

/// The work panicked. The panic is in the log.
#[derive(Debug, thiserror::Error)]
#[error("an internal error; the server's log has the details")]
pub struct Panicked;

/// Runs work on a thread that may block.
pub async fn run<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Panicked> {
    let (sender, result) = tokio::sync::oneshot::channel();
    let job = Box::new(move || {
        // A panic must not end a thread that others wait for.
        if let Ok(result) = std::panic::catch_unwind(AssertUnwindSafe(work)) {
            let _ = sender.send(result);
        }
    });
    if let Some(job) = POOL.submit(job) {
        job();
    }
    result.await.map_err(|_| Panicked)
}

type Job = Box<dyn FnOnce() + Send>;

/// How long a thread waits for more work before it ends.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

static POOL: Pool =
    Pool { state: Mutex::new(State { jobs: VecDeque::new(), threads: 0, idle: 0 }), work: Condvar::new() };

struct Pool {
    state: Mutex<State>,
    work: Condvar,
}

struct State {
    jobs: VecDeque<Job>,
    threads: usize,
    /// How many of the threads wait for work.
    idle: usize,
}

impl Pool {
    /// Hands the job to a thread. Returns it if there is none and none can be started.
    fn submit(&'static self, job: Job) -> Option<Job> {
        let mut state = self.state.locked();
        state.jobs.push_back(job);
        if state.idle >= state.jobs.len() {
            // The thread that wakes up needs the lock.
            drop(state);
            self.work.notify_one();
            return None;
        }
        if std::thread::Builder::new().name("blocking".to_owned()).spawn(|| self.serve()).is_ok() {
            state.threads += 1;
        } else if state.threads == 0 {
            return state.jobs.pop_back();
        }
        None
    }

    /// What a thread does until there has been no work for a while.
    fn serve(&self) {
        let mut state = self.state.locked();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                drop(state);
                job();
                state = self.state.locked();
                continue;
            }
            state.idle += 1;
            let (again, waited) = self.work.wait_timeout(state, KEEP_ALIVE).unwrap_or_else(PoisonError::into_inner);
            state = again;
            state.idle -= 1;
            if waited.timed_out() && state.jobs.is_empty() {
                state.threads -= 1;
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_is_done_and_a_panic_ends_that_work_only() {
        assert_eq!(run(|| 1 + 1).await.unwrap(), 2);
        assert!(run(|| -> u32 { panic!("on purpose") }).await.is_err());
        let all: Vec<_> = (0..50).map(|n| tokio::spawn(run(move || n))).collect();
        for (n, done) in all.into_iter().enumerate() {
            assert_eq!(done.await.unwrap().unwrap(), n);
        }
    }
}
