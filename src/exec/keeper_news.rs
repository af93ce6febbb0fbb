//! What a keeper has told the server between requests: that it has died, and which processes it killed and why.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use super::Totals;

use crate::base::locks::LockExt;
use crate::keeper::protocol::KeeperNote;

#[derive(Debug, Default)]
pub struct KeeperNews {
    dead: AtomicBool,
    notes: Mutex<Vec<KeeperNote>>,
    /// Reapers whose commands will ask for their own notes.
    claimed: Mutex<HashSet<i32>>,
    /// Where the session's usage counts.
    pub(super) totals: OnceLock<Arc<Totals>>,
}

/// The notes of one command. While it lives, nobody else gets them.
#[derive(Debug)]
pub struct Claim {
    news: Arc<KeeperNews>,
    reaper: i32,
}

impl KeeperNews {
    pub fn is_dead(&self) -> bool {
        self.dead.load(Ordering::Relaxed)
    }

    pub fn mark_dead(&self) {
        self.dead.store(true, Ordering::Relaxed);
    }

    pub fn add(&self, note: KeeperNote) {
        self.notes.locked().push(note);
    }

    pub fn claim(self: &Arc<Self>, reaper: i32) -> Claim {
        self.claimed.locked().insert(reaper);
        Claim { news: self.clone(), reaper }
    }

    /// Notes about processes that no call and no task answers for.
    pub fn take_unclaimed(&self) -> Vec<String> {
        let claimed = self.claimed.locked();
        self.take(|reaper| !claimed.contains(&reaper))
    }

    fn take(&self, wanted: impl Fn(i32) -> bool) -> Vec<String> {
        self.notes.locked().extract_if(.., |note| wanted(note.reaper)).map(|note| note.text).collect()
    }
}

impl Claim {
    pub fn take(&self) -> Vec<String> {
        self.news.take(|reaper| reaper == self.reaper)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.news.claimed.locked().remove(&self.reaper);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_goes_to_the_command_it_is_about() {
        let news = Arc::new(KeeperNews::default());
        let (first, second) = (news.claim(1), news.claim(2));
        for reaper in [1, 2, 3] {
            news.add(KeeperNote { reaper, text: format!("of {reaper}") });
        }
        assert_eq!(news.take_unclaimed(), ["of 3"]);
        assert_eq!(first.take(), ["of 1"]);
        drop(second);
        assert_eq!(news.take_unclaimed(), ["of 2"], "its command asks no more");
    }
}
