//! What a running server keeps on disk: one directory per server below the user's cache directory, or below `$TMPDIR` if the
//! cache directory cannot be used or is not private.
//!
//! It holds the streams that were too long for memory, the sessions' temporary directories, and the list of approvals
//! that `testudo doctor` shows. The server holds a lock in it while it lives, so that the next server recognises an
//! abandoned directory and removes it.

use std::fs::File;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{FlockOperation, flock};

use super::SessionDirectory;
use super::output::Disk;
use super::remove_tree::remove_tree;
use crate::base::private_directory;
use crate::sandbox::limits::DiskLimits;

/// Below the cache directory.
const PARENT: &str = "outputs";
const APPROVALS: &str = "approvals";
const LOCK: &str = "lock";

#[derive(Debug)]
pub struct ServerDirectory {
    path: PathBuf,
    /// Held for as long as the server lives. Without one there is no directory, and this is the reason.
    lock: Result<File, String>,
    next: AtomicU64,
    /// Bytes of each stream that may be stored.
    pub(super) budget: u64,
    disk: Disk,
}

impl ServerDirectory {
    /// Removes what dead servers left, and makes a new one: below the cache directory, or else below `$TMPDIR`.
    pub fn open(cache_dir: &Path, budget: u64, limits: DiskLimits) -> Arc<Self> {
        let (parent, temporary) = (cache_dir.join(PARENT), shared_directory());
        let in_temporary = format!("testudo-{}-", rustix::process::geteuid().as_raw());
        remove_abandoned(&temporary, &in_temporary);
        let made = private_directory::make(&parent).and_then(|()| {
            remove_abandoned(&parent, "");
            make(&parent, "")
        });
        let made = made.or_else(|error| {
            tracing::warn!(directory = %parent.display(), %error, instead = %temporary.display(), "cannot be used");
            make(&temporary, &in_temporary)
        });
        let (path, lock) = match made {
            Ok((path, lock)) => (path, Ok(lock)),
            // Commands cannot run without a temporary directory. Their errors say so.
            Err(error) => {
                tracing::warn!(directory = %temporary.display(), %error, "nothing can be stored");
                (temporary, Err(error.to_string()))
            }
        };
        Arc::new(Self { path, lock, next: AtomicU64::new(0), budget, disk: Disk::new(limits) })
    }

    /// `None` where none could be made.
    pub fn path(&self) -> Option<&Path> {
        self.lock.is_ok().then_some(self.path.as_path())
    }

    /// What a new session keeps in it.
    pub fn session(self: &Arc<Self>) -> SessionDirectory {
        SessionDirectory::new(self.clone(), self.disk.session())
    }

    /// A path that no other file here has.
    pub(super) fn new_path(&self, prefix: &str) -> io::Result<PathBuf> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        match &self.lock {
            Ok(_) => Ok(self.path.join(format!("{prefix}{number}"))),
            Err(reason) => Err(io::Error::other(reason.clone())),
        }
    }

    /// Where the layer of a private home can lie that is removed with the server.
    pub fn temporary_layer(&self) -> Option<PathBuf> {
        self.new_path("home-").ok()
    }

    /// The file in which this server lists its approvals; it may not exist yet.
    pub fn approvals(&self) -> Option<PathBuf> {
        self.lock.is_ok().then(|| self.path.join(APPROVALS))
    }

    /// The same file of every living server of this user.
    pub fn all_approvals(cache_dir: &Path) -> Vec<PathBuf> {
        let parent = cache_dir.join(PARENT);
        let entries = private_directory::check(&parent).and_then(|()| std::fs::read_dir(&parent));
        let entries = entries.into_iter().flatten().flatten();
        let living = entries.map(|entry| entry.path()).filter(|directory| !is_abandoned(directory));
        living.map(|directory| directory.join(APPROVALS)).collect()
    }

    /// Removes the directory with everything in it, when the server ends.
    pub fn remove(&self) {
        if self.lock.is_ok() {
            remove_tree(&self.path);
        }
    }
}

impl Drop for ServerDirectory {
    fn drop(&mut self) {
        self.remove();
    }
}

/// `$TMPDIR`, or the machine's own directory if other users could exchange what we make in `$TMPDIR`.
fn shared_directory() -> PathBuf {
    let named = std::env::temp_dir();
    if named.exists() && private_directory::check_shared(&named).is_err() { PathBuf::from("/tmp") } else { named }
}

fn make(parent: &Path, prefix: &str) -> io::Result<(PathBuf, File)> {
    let path = parent.join(format!("{prefix}{}-{}", std::process::id(), crate::base::random::hex::<8>()));
    let named = |error: io::Error| io::Error::other(format!("{}: {error}", path.display()));
    std::fs::DirBuilder::new().mode(0o700).create(&path).map_err(named)?;
    // It gets its name when it is held. Another server that starts now would take a free lock for that of a dead server.
    let new = path.join("new-lock");
    let lock = File::options().read(true).write(true).create_new(true).mode(0o600).open(&new)?;
    flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
    std::fs::rename(new, path.join(LOCK))?;
    Ok((path, lock))
}

/// A directory of ours whose lock is free belongs to a server that is gone.
fn remove_abandoned(parent: &Path, prefix: &str) {
    let own = rustix::process::geteuid().as_raw();
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    let ours = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix));
    let ours = ours.filter(|entry| entry.metadata().is_ok_and(|found| found.is_dir() && found.uid() == own));
    for directory in ours.map(|entry| entry.path()).filter(|directory| is_abandoned(directory)) {
        remove_tree(&directory);
    }
}

fn is_abandoned(directory: &Path) -> bool {
    match File::open(directory.join(LOCK)) {
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
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn a_dead_servers_directory_goes_and_a_living_ones_stays() {
        let world = tempfile::tempdir().unwrap();
        let open = || ServerDirectory::open(world.path(), 1, DiskLimits { session: 1, total: 1 });
        let living = open();
        let dead = world.path().join("outputs/1-dead");
        std::fs::create_dir(&dead).unwrap();
        std::fs::write(dead.join("lock"), "").unwrap();
        let _second = open();
        assert!(!dead.exists());
        assert!(living.path.exists());
        let path = living.path.clone();
        drop(living);
        assert!(!path.exists());
    }

    #[test]
    fn a_server_that_starts_leaves_another_that_starts_alone() {
        let world = tempfile::tempdir().unwrap();
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    remove_abandoned(world.path(), "");
                }
            });
            // A failure ends the thread too, so nothing is asserted here.
            let starts = |_| make(world.path(), "").is_ok_and(|(path, _lock)| std::fs::remove_dir_all(path).is_ok());
            let unharmed = (0..5000).all(starts);
            over.store(true, Ordering::Relaxed);
            assert!(unharmed);
        });
    }
}
