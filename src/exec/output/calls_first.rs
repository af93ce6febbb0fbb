//! Calls come before tasks: somebody waits for the answer to a call, nobody for the next megabyte of a task. A task that prints
//! without end would take one processor for itself and another one for its reader. Its reader pauses when a call comes. The pipe
//! fills, and the task waits too.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

/// Most calls have their answer by then.
const CALL: Duration = Duration::from_millis(5);
/// A task goes on after this, however many calls come.
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

static START: LazyLock<Instant> = LazyLock::new(Instant::now);
/// In microseconds after the start; 0 if there was none.
static LAST_CALL: AtomicU64 = AtomicU64::new(0);

/// A call has come.
pub fn call_begins() {
    LAST_CALL.store(now().max(1), Ordering::Relaxed);
}

/// For the reader of a task: lets the last call have its answer first, and those that come meanwhile.
pub async fn calls_first() {
    let end = Instant::now() + LONGEST_PAUSE;
    while let Some(rest) = rest_of_call()
        && Instant::now() < end
    {
        tokio::time::sleep_until(end.min(Instant::now() + rest)).await;
    }
}

fn rest_of_call() -> Option<Duration> {
    let last = LAST_CALL.load(Ordering::Relaxed);
    let since = Duration::from_micros(now().saturating_sub(last));
    CALL.checked_sub(since).filter(|rest| last > 0 && !rest.is_zero())
}

fn now() -> u64 {
    u64::try_from(START.elapsed().as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn pause() -> Duration {
        let begun = Instant::now();
        calls_first().await;
        begun.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_waits_for_calls_but_not_for_ever() {
        assert_eq!(pause().await, Duration::ZERO, "no call has come");
        tokio::time::advance(Duration::from_secs(1)).await;
        call_begins();
        tokio::time::advance(Duration::from_millis(2)).await;
        let rest = Duration::from_millis(3)..=Duration::from_millis(5);
        assert!(rest.contains(&pause().await));
        assert_eq!(pause().await, Duration::ZERO, "the call has its answer");

        let calls = tokio::spawn(async {
            loop {
                call_begins();
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        });
        tokio::task::yield_now().await;
        let whole = LONGEST_PAUSE..=LONGEST_PAUSE + Duration::from_millis(2);
        assert!(whole.contains(&pause().await));
        calls.abort();
    }
}
