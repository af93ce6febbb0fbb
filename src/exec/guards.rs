//! The guards that this server has started, until they have ended. A server that left before its guards would leave zombies
//! in a container whose first process does not reap.

use std::collections::HashSet;
use std::sync::LazyLock;
use std::time::Duration;

use tokio::process::Child;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

static LIVING: LazyLock<watch::Sender<HashSet<u32>>> = LazyLock::new(|| watch::Sender::new(HashSet::new()));

/// How long to wait for the end of a guard that was told to end. It takes longer only if a process hangs in the kernel.
const LONGEST: Duration = Duration::from_secs(5);

/// Reaps a guard when it ends. Returns its pid.
pub fn adopt(mut guard: Child) -> Option<u32> {
    let pid = guard.id()?;
    LIVING.send_modify(|living| {
        living.insert(pid);
    });
    tokio::spawn(async move {
        let _ = guard.wait().await;
        LIVING.send_modify(|living| {
            living.remove(&pid);
        });
    });
    Some(pid)
}

/// Whether this process is one of the guards. All processes of a session descend from one.
pub fn is_one(pid: i32) -> bool {
    u32::try_from(pid).is_ok_and(|pid| LIVING.borrow().contains(&pid))
}

/// Waits until a guard has ended.
pub async fn gone(pid: u32) {
    let mut living = LIVING.subscribe();
    let _ = tokio::time::timeout(LONGEST, living.wait_for(|living| !living.contains(&pid))).await;
}

/// Waits until all guards have ended, before the server exits.
pub async fn all_gone() {
    let mut living = LIVING.subscribe();
    let _ = tokio::time::timeout(LONGEST, living.wait_for(HashSet::is_empty)).await;
}

/// Reaps processes that are not ours, for a server that is the first process of its container: the kernel makes it the
/// parent of every orphan there. Returns at once if it is not the first.
pub fn reap_strangers() {
    if std::process::id() != 1 {
        return;
    }
    let Ok(mut ended) = signal(SignalKind::child()) else { return };
    tokio::spawn(async move {
        while ended.recv().await.is_some() {
            crate::keeper::reap_strangers(is_one);
        }
    });
}
