//! The servers of this user: where their sockets are, and what all of them tell.

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::sync::mpsc;

use super::types::State;
use super::{Message, Remote};
use crate::exec::PrivateSocket;

pub const SUFFIX: &str = ".sock";
/// How often new servers are looked for.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// The sockets in these directories, those of dead servers included.
fn sockets(directories: &[PathBuf]) -> Vec<PathBuf> {
    let own = rustix::process::geteuid().as_raw();
    let entries = directories.iter().filter_map(|directory| std::fs::read_dir(directory).ok()).flatten().flatten();
    let ours = entries.filter(|entry| entry.metadata().is_ok_and(|found| found.uid() == own));
    let mut all: Vec<PathBuf> =
        ours.map(|entry| entry.path()).filter(|path| path.to_string_lossy().ends_with(SUFFIX)).collect();
    all.sort();
    all
}

/// Removes the sockets that dead servers left.
pub fn remove_abandoned(directory: &Path) {
    sockets(&[directory.to_owned()]).iter().for_each(|path| PrivateSocket::remove_abandoned(path));
}

/// Every server that answers, with its state.
pub async fn all(directories: &[PathBuf]) -> Vec<(Remote, State)> {
    let remotes = sockets(directories).into_iter().map(Remote::new);
    let asked = remotes.map(async |remote| {
        let state = remote.state().await.ok()?;
        Some((remote, state))
    });
    futures::future::join_all(asked).await.into_iter().flatten().collect()
}

/// What one of the servers tells.
#[derive(Debug)]
pub enum News {
    Told(Message),
    /// It has ended, or the connection to it is lost.
    Gone,
}

/// How long one server may take to say that it is followed.
const PATIENCE: Duration = Duration::from_secs(1);

/// Follows all servers, those included that start later. With `approver`, their questions wait for an answer: those of the
/// servers that run now as soon as this returns.
pub async fn follow(directories: Vec<PathBuf>, approver: bool) -> mpsc::Receiver<(Remote, News)> {
    let (sender, receiver) = mpsc::channel(256);
    let mut known: HashSet<PathBuf> = HashSet::new();
    let (gone, mut ended) = mpsc::unbounded_channel::<PathBuf>();
    let begin = move |path: PathBuf, sender: mpsc::Sender<_>| {
        let (gone, (followed, begun)) = (gone.clone(), tokio::sync::oneshot::channel());
        tokio::spawn(async move {
            follow_one(&Remote::new(path.clone()), approver, &sender, followed).await;
            let _ = gone.send(path);
        });
        begun
    };
    for path in sockets(&directories) {
        known.insert(path.clone());
        let _ = tokio::time::timeout(PATIENCE, begin(path, sender.clone())).await;
    }
    tokio::spawn(async move {
        while !sender.is_closed() {
            while let Ok(path) = ended.try_recv() {
                known.remove(&path);
            }
            for path in sockets(&directories) {
                if known.insert(path.clone()) {
                    drop(begin(path, sender.clone()));
                }
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    });
    receiver
}

async fn follow_one(
    remote: &Remote,
    approver: bool,
    sender: &mpsc::Sender<(Remote, News)>,
    followed: tokio::sync::oneshot::Sender<()>,
) {
    let path = if approver { "/v1/events?approver=1" } else { "/v1/events" };
    let Ok(mut events) = remote.events(path).await else { return };
    let _ = followed.send(());
    loop {
        tokio::select! {
            message = events.next() => {
                let Some(message) = message else { break };
                if sender.send((remote.clone(), News::Told(message))).await.is_err() {
                    return;
                }
            }
            () = sender.closed() => return,
        }
    }
    let _ = sender.send((remote.clone(), News::Gone)).await;
}
