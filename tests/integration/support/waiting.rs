//! Waiting for a condition instead of sleeping for a guess.

use std::time::{Duration, Instant};

/// Returns what `probe` finds. Fails the test after 30 seconds without a find.
#[track_caller]
pub fn until<T>(what: &str, mut probe: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        if let Some(found) = probe() {
            return found;
        }
        assert!(Instant::now() < end, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Calls `attempt` with a time limit in milliseconds, and doubles the limit until `attempt` says that its command got
/// far enough before the limit passed. A busy machine needs longer to start a command than an idle one, so any fixed
/// limit is either slow or flaky.
#[track_caller]
pub fn with_enough_time<T>(attempt: impl FnMut(u64) -> Option<T>) -> T {
    let limits = [250, 500, 1000, 2000, 4000, 8000, 16000];
    limits.into_iter().find_map(attempt).expect("the command to get far enough within 16 seconds")
}
