//! What a keeper has told the server between requests: that it has died, and which processes it killed and why.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use super::Totals;
use super::socket::Socket;
use crate::base::locks::LockExt;
use crate::keeper::protocol::{KeeperNote, SessionUsage};

#[derive(Debug)]
pub struct KeeperNews {
    socket: Arc<Socket>,
    dead: AtomicBool,
    notes: Mutex<Vec<KeeperNote>>,
    /// Reapers whose commands will ask for their own notes, and how many do: a shell may run one after the other.
    claimed: Mutex<HashMap<i32, usize>>,
    /// Where the session's usage counts.
    pub(super) totals: OnceLock<Arc<Totals>>,
}

/// The notes of one command. While it lives, nobody else gets them.
#[derive(Debug)]
pub struct Claim {
    news: Arc<KeeperNews>,
    reaper: i32,
    has_told: AtomicBool,
}

impl KeeperNews {
    pub fn new(socket: Arc<Socket>) -> Self {
        Self {
            socket,
            dead: AtomicBool::default(),
            notes: Mutex::default(),
            claimed: Mutex::default(),
            totals: OnceLock::new(),
        }
    }

    /// Hears what the keeper says until it dies.
    pub async fn listen(&self) {
        self.socket
            .whenever_readable(|| {
                self.hear();
                !self.is_dead()
            })
            .await;
    }

    /// Reads what the keeper has said already. The keeper says why it kills before it kills, so a caller that has seen a
    /// command end finds the reason here.
    fn hear(&self) {
        let mut notes = self.notes.locked();
        while let Some(message) = self.socket.receive_now() {
            if message.is_empty() {
                return self.mark_dead();
            }
            notes.extend(KeeperNote::decode(&message));
            if let (Ok(usage), Some(totals)) = (SessionUsage::decode(&message), self.totals.get()) {
                totals.report(&self.socket, usage);
            }
        }
    }

    pub fn is_dead(&self) -> bool {
        self.dead.load(Ordering::Relaxed)
    }

    pub fn mark_dead(&self) {
        self.dead.store(true, Ordering::Relaxed);
    }

    pub fn claim(self: &Arc<Self>, reaper: i32) -> Claim {
        *self.claimed.locked().entry(reaper).or_default() += 1;
        Claim { news: self.clone(), reaper, has_told: AtomicBool::default() }
    }

    /// Notes about processes that no call and no task answers for.
    pub fn take_unclaimed(&self) -> Vec<String> {
        let claimed = self.claimed.locked();
        self.take(|reaper| !claimed.contains_key(&reaper))
    }

    fn take(&self, wanted: impl Fn(i32) -> bool) -> Vec<String> {
        self.hear();
        self.notes.locked().extract_if(.., |note| wanted(note.reaper)).map(|note| note.text).collect()
    }
}

impl Claim {
    pub fn take(&self) -> Vec<String> {
        let notes = self.news.take(|reaper| reaper == self.reaper);
        self.has_told.fetch_or(!notes.is_empty(), Ordering::Relaxed);
        notes
    }

    /// Whether there have been any.
    pub fn has_told(&self) -> bool {
        self.has_told.load(Ordering::Relaxed)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut claimed = self.news.claimed.locked();
        if let Some(count) = claimed.get_mut(&self.reaper) {
            *count -= 1;
        }
        claimed.retain(|_, count| *count > 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_note_goes_to_the_command_it_is_about() {
        let (ours, keeper) = Socket::pair().unwrap();
        let news = Arc::new(KeeperNews::new(Arc::new(ours)));
        drop(news.claim(2));
        let (first, second, earlier) = (news.claim(1), news.claim(2), news.claim(1));
        drop(earlier);
        for reaper in [1, 2, 3] {
            let note = KeeperNote { reaper, text: format!("of {reaper}") };
            rustix::net::send(&keeper, &note.encode(), rustix::net::SendFlags::empty()).unwrap();
        }
        assert_eq!(news.take_unclaimed(), ["of 3"]);
        assert!(!first.has_told());
        assert_eq!(first.take(), ["of 1"]);
        assert!(first.take().is_empty() && first.has_told());
        drop(second);
        assert_eq!(news.take_unclaimed(), ["of 2"], "its command asks no more");
    }
}
