//! Watches how much a session's commands write into their temporary directory. No quota of the kernel does that for an
//! ordinary user, so the directory is measured while commands run.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Session;

/// Between two measurements, at least. A large directory is measured less often, so that this costs little, and so is one
/// that does not change.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);
const UNCHANGED_PAUSE: Duration = Duration::from_secs(8);
const SHARE: u32 = 20;

/// Measures again and again until nothing runs any more. If the directory is too large and still grows, the process that
/// writes most is killed. One that only removes files is left alone, and so is one that has only just begun: whoever filled
/// the directory may have ended.
pub fn start(session: &Arc<Session>) {
    let watched = Arc::downgrade(session);
    tokio::spawn(async move {
        let (mut pause, mut before, mut was_too_large) = (PAUSE, 0, false);
        loop {
            tokio::time::sleep(pause).await;
            let Some(session) = watched.upgrade() else { return };
            let more = session.still_watching_disk();
            let (directory, begun) = (session.directory().clone(), Instant::now());
            let Ok((size, room)) = tokio::task::spawn_blocking(move || directory.measure()).await else { return };
            let too_large = room.is_err();
            if let Err(full) = room
                && was_too_large
                && size > before
            {
                session.keepers().shed(&full).await;
            }
            was_too_large = too_large;
            if !more {
                return;
            }
            let least = if size == before { (pause * 2).min(UNCHANGED_PAUSE) } else { PAUSE };
            pause = (begun.elapsed() * SHARE).clamp(least, LONGEST_PAUSE);
            before = size;
        }
    });
}
