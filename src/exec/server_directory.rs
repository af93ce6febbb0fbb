//! What a running server keeps on disk: one directory per server below the user's cache directory.
//!
//! It holds the streams that were too long for memory, the sessions' temporary directories, and the list of approvals
//! that `testudo doctor` shows. The server holds a lock in it while it lives, so that the next server recognises an
//! abandoned directory and removes it.

use std::fs::File;
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{FlockOperation, flock};

use super::homes;
use super::output::Spill;

/// Below the cache directory.
const PARENT: &str = "outputs";
const APPROVALS: &str = "approvals";

#[derive(Debug)]
pub struct ServerDirectory {
    path: PathBuf,
    /// Held for as long as the server lives; without one there is no directory.
    lock: Option<File>,
    next: AtomicU64,
    /// Bytes of each stream that may be stored.
    budget: u64,
}

impl ServerDirectory {
    /// Removes what dead servers left, and makes a new one.
    pub fn open(cache_dir: &Path, budget: u64) -> io::Result<Self> {
        let parent = cache_dir.join(PARENT);
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&parent)?;
        remove_abandoned(&parent);
        let path = parent.join(format!("{}-{}", std::process::id(), crate::base::random::hex::<8>()));
        std::fs::DirBuilder::new().mode(0o700).create(&path)?;
        let lock = File::options().read(true).write(true).create_new(true).mode(0o600).open(path.join("lock"))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        Ok(Self { path, lock: Some(lock), next: AtomicU64::new(0), budget })
    }

    /// For a machine where none can be made: commands still run, and their results say that long output is lost.
    pub fn unavailable() -> Self {
        Self { path: PathBuf::new(), lock: None, next: AtomicU64::new(0), budget: 0 }
    }

    /// Where one more stream is stored.
    pub fn spill(&self) -> Spill {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        Spill::new(self.lock.is_some().then(|| self.path.join(number.to_string())), self.budget)
    }

    /// A new directory for a session's temporary files. Every user may write in it, because a session's commands may run
    /// as several users. The directory above it is closed to all others.
    pub fn temporary_directory(&self) -> io::Result<PathBuf> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let parent = match self.lock {
            Some(_) => self.path.clone(),
            None => std::env::temp_dir().join(format!("testudo-{}", crate::base::random::hex::<8>())),
        };
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&parent)?;
        let directory = parent.join(format!("tmp-{number}"));
        std::fs::create_dir(&directory)?;
        std::fs::set_permissions(&directory, std::fs::Permissions::from_mode(0o1777))?;
        directory.canonicalize()
    }

    /// Where the layer of a private home can lie that is removed with the server.
    pub fn temporary_layer(&self) -> Option<PathBuf> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.lock.as_ref().map(|_| self.path.join(format!("home-{number}")))
    }

    /// The file in which this server lists its approvals; it may not exist yet.
    pub fn approvals(&self) -> Option<PathBuf> {
        self.lock.as_ref().map(|_| self.path.join(APPROVALS))
    }

    /// The same file of every living server of this user.
    pub fn all_approvals(cache_dir: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(cache_dir.join(PARENT)).into_iter().flatten().flatten();
        let living = entries.map(|entry| entry.path()).filter(|directory| !is_abandoned(directory));
        living.map(|directory| directory.join(APPROVALS)).collect()
    }

    /// Removes the directory with everything in it, when the server ends.
    pub fn remove(&self) {
        if self.lock.is_some() {
            let _ = homes::remove(&self.path);
        }
    }
}

impl Drop for ServerDirectory {
    fn drop(&mut self) {
        self.remove();
    }
}

/// A directory whose lock is free belongs to a server that is gone.
fn remove_abandoned(parent: &Path) {
    let Ok(entries) = std::fs::read_dir(parent) else { return };
    for directory in entries.flatten().map(|entry| entry.path()).filter(|directory| is_abandoned(directory)) {
        let _ = homes::remove(&directory);
    }
}

fn is_abandoned(directory: &Path) -> bool {
    match File::open(directory.join("lock")) {
        Ok(lock) => flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok(),
        // A starting server makes its directory a moment before its lock. Only an old directory without one is abandoned.
        Err(_) => older_than_a_minute(directory),
    }
}

fn older_than_a_minute(directory: &Path) -> bool {
    let modified = std::fs::metadata(directory).and_then(|metadata| metadata.modified());
    modified.ok().and_then(|at| at.elapsed().ok()).is_some_and(|age| age.as_secs() > 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dead_servers_directory_goes_and_a_living_ones_stays() {
        let world = tempfile::tempdir().unwrap();
        let living = ServerDirectory::open(world.path(), 1).unwrap();
        let dead = world.path().join("outputs/1-dead");
        std::fs::create_dir(&dead).unwrap();
        std::fs::write(dead.join("lock"), "").unwrap();
        let _second = ServerDirectory::open(world.path(), 1).unwrap();
        assert!(!dead.exists());
        assert!(living.path.exists());
        let path = living.path.clone();
        drop(living);
        assert!(!path.exists());
    }
}
