//! Walks through a scope in search of protected names. Sessions with the same scope share them: a large tree is walked
//! once for all of them, and not all the time.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;

use crate::base::locks::LockExt;
use crate::base::protected_names::Names;
use crate::sandbox::sentry::{self, Walked};

/// How soon a walk is wanted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Haste {
    /// A command waits for it.
    Now,
    /// After a pause since the last one, so that a large tree does not keep a core busy.
    Later,
}

const PAUSE: Duration = Duration::from_secs(2);
/// A scope is forgotten when no session has asked about it for so long.
const KEPT: Duration = Duration::from_mins(1);

#[derive(Debug, Default)]
pub struct SharedWalks {
    scopes: Mutex<HashMap<Vec<PathBuf>, Arc<Scope>>>,
}

/// A walk that takes longer waits for a file system that has stopped to answer while it was being walked. The next walk
/// knows that and leaves it out.
const STUCK: Duration = Duration::from_secs(7);

async fn through(scope: &[PathBuf], names: &Arc<Names>) -> Walked {
    loop {
        let (roots, names) = (scope.to_vec(), names.clone());
        let walk = tokio::task::spawn_blocking(move || sentry::walk_through(&roots, &names));
        if let Ok(walked) = tokio::time::timeout(STUCK, walk).await {
            return walked.unwrap_or_default();
        }
    }
}

#[derive(Debug, Default)]
struct Scope {
    begun: AtomicU64,
    /// Locked while a walk is under way.
    last: tokio::sync::Mutex<Option<Walk>>,
}

#[derive(Debug)]
struct Walk {
    number: u64,
    walked: Arc<Walked>,
    ended: Instant,
}

impl SharedWalks {
    /// What stood in the scope at some time after the call.
    pub async fn walk(&self, scope: &[PathBuf], names: &Arc<Names>, haste: Haste) -> Arc<Walked> {
        let shared = self.shared(scope);
        // A walk that has already begun may have passed the place where the caller's command wrote.
        let wanted = shared.begun.load(Ordering::SeqCst) + 1;
        loop {
            let mut last = shared.last.lock().await;
            if let Some(walk) = &*last {
                if walk.number >= wanted {
                    return walk.walked.clone();
                }
                let due = walk.ended + PAUSE;
                if haste == Haste::Later && Instant::now() < due {
                    drop(last);
                    tokio::time::sleep_until(due).await;
                    continue;
                }
            }
            let number = shared.begun.fetch_add(1, Ordering::SeqCst) + 1;
            let walked = Arc::new(through(scope, names).await);
            *last = Some(Walk { number, walked: walked.clone(), ended: Instant::now() });
            return walked;
        }
    }

    fn shared(&self, scope: &[PathBuf]) -> Arc<Scope> {
        let mut scopes = self.scopes.locked();
        scopes.retain(|_, scope| Arc::strong_count(scope) > 1 || scope.is_fresh());
        scopes.entry(scope.to_vec()).or_default().clone()
    }
}

impl Scope {
    fn is_fresh(&self) -> bool {
        let Ok(last) = self.last.try_lock() else { return true };
        last.as_ref().is_some_and(|walk| walk.ended.elapsed() < KEPT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walks() -> (tempfile::TempDir, Arc<SharedWalks>, Vec<PathBuf>, Arc<Names>) {
        let world = tempfile::tempdir().unwrap();
        let scope = vec![world.path().to_owned()];
        (world, Arc::default(), scope, Arc::new(Names::new(&[".envrc".to_owned()])))
    }

    #[tokio::test]
    async fn sessions_that_ask_at_once_share_a_walk() {
        let (_world, walks, scope, names) = walks();
        let asking = (0..100).map(|_| walks.walk(&scope, &names, Haste::Now));
        let all = futures::future::join_all(asking).await;
        assert!(!Arc::ptr_eq(&all[0], &all[1]), "the first walk had begun when the others asked");
        assert!(all[1..].iter().all(|walked| Arc::ptr_eq(walked, &all[1])));
        assert_eq!(walks.shared(&scope).begun.load(Ordering::SeqCst), 2);
        let later = walks.walk(&scope, &names, Haste::Now).await;
        assert!(!Arc::ptr_eq(&later, &all[1]), "what has happened since is seen");
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_that_can_wait_waits_for_the_pause() {
        let (world, walks, scope, names) = walks();
        walks.walk(&scope, &names, Haste::Later).await;
        let ended = Instant::now();
        let (waiting, hasty) =
            tokio::join!(walks.walk(&scope, &names, Haste::Later), walks.walk(&scope, &names, Haste::Now));
        assert!(Arc::ptr_eq(&waiting, &hasty), "a walk that cannot wait serves the others too");
        std::fs::write(world.path().join(".envrc"), "").unwrap();
        assert_eq!(walks.walk(&scope, &names, Haste::Later).await[0].1.protected, [world.path().join(".envrc")]);
        assert!(ended.elapsed() >= PAUSE);
    }

    #[tokio::test(start_paused = true)]
    async fn a_scope_that_no_session_asks_about_is_forgotten() {
        let (_world, walks, scope, names) = walks();
        walks.walk(&scope, &names, Haste::Now).await;
        tokio::time::advance(KEPT).await;
        walks.walk(&[], &names, Haste::Now).await;
        assert_eq!(walks.scopes.lock().unwrap().len(), 1);
    }
}
