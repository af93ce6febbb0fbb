//! How much the sessions of a server keep on disk: stored output and temporary directories. When a session, or all of them
//! together, would exceed the limit, the oldest stored outputs are removed.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use crate::base::locks::LockExt;
use crate::sandbox::limits::DiskLimits;

/// The account of a whole server.
#[derive(Clone, Debug)]
pub struct Disk(Arc<Mutex<Accounts>>);

#[derive(Debug)]
struct Accounts {
    limits: DiskLimits,
    next: u64,
    sessions: HashMap<u64, Account>,
}

#[derive(Debug, Default)]
struct Account {
    /// Bytes of stored output.
    stored: u64,
    /// Bytes in the temporary directory, as last measured.
    temporary: u64,
    /// Complete outputs, the oldest first. These can be removed.
    complete: VecDeque<Weak<StoredFile>>,
}

/// The account of one session. It is closed when this is dropped.
#[derive(Debug)]
pub struct SessionDisk {
    disk: Disk,
    number: u64,
}

/// Which limit is exceeded.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum DiskFull {
    #[error("the session keeps {} MB on disk, sandbox.limits.disk is {} MB", .used >> 20, .limit >> 20)]
    Session { used: u64, limit: u64 },
    #[error("all sessions together keep {} MB on disk, sandbox.limits.total_disk is {} MB", .used >> 20, .limit >> 20)]
    Total { used: u64, limit: u64 },
}

impl Disk {
    pub fn new(limits: DiskLimits) -> Self {
        Self(Arc::new(Mutex::new(Accounts { limits, next: 0, sessions: HashMap::new() })))
    }

    pub fn session(&self) -> SessionDisk {
        let mut accounts = self.0.locked();
        accounts.next += 1;
        let number = accounts.next;
        accounts.sessions.insert(number, Account::default());
        SessionDisk { disk: self.clone(), number }
    }
}

impl SessionDisk {
    /// Takes room for so many more bytes of output, and removes older outputs for it if need be.
    pub fn take(&self, bytes: u64) -> Result<(), DiskFull> {
        self.make_room(bytes)?;
        self.change(|account| account.stored += bytes);
        Ok(())
    }

    /// Notes how large the temporary directory is. Older outputs make room for it; if that is not enough, says so.
    pub fn set_temporary(&self, bytes: u64) -> Result<(), DiskFull> {
        self.change(|account| account.temporary = bytes);
        self.make_room(0)
    }

    fn make_room(&self, bytes: u64) -> Result<(), DiskFull> {
        loop {
            let (full, oldest) = {
                let mut accounts = self.disk.0.locked();
                let Some(full) = accounts.exceeded(self.number, bytes) else { return Ok(()) };
                (full, accounts.oldest(self.number, full))
            };
            // Removed without the lock: the file gives its bytes back.
            oldest.ok_or(full)?.remove(full);
        }
    }

    fn complete(&self, file: &Arc<StoredFile>) {
        self.change(|account| {
            // All are looked through only when they have doubled, so that the work for each does not grow with their number.
            if account.complete.len() == account.complete.capacity() {
                account.complete.retain(|file| file.strong_count() > 0);
            }
            account.complete.push_back(Arc::downgrade(file));
        });
    }

    fn change(&self, change: impl FnOnce(&mut Account)) {
        if let Some(account) = self.disk.0.locked().sessions.get_mut(&self.number) {
            change(account);
        }
    }
}

impl Drop for SessionDisk {
    fn drop(&mut self) {
        self.disk.0.locked().sessions.remove(&self.number);
    }
}

impl Accounts {
    fn exceeded(&self, session: u64, more: u64) -> Option<DiskFull> {
        let DiskLimits { session: limit, total } = self.limits;
        let used = self.sessions.get(&session).map_or(0, Account::used) + more;
        let all = self.sessions.values().map(Account::used).sum::<u64>() + more;
        if used > limit {
            Some(DiskFull::Session { used, limit })
        } else {
            (all > total).then_some(DiskFull::Total { used: all, limit: total })
        }
    }

    /// The oldest output that can be removed: of this session, or of the one that keeps most.
    fn oldest(&mut self, session: u64, full: DiskFull) -> Option<Arc<StoredFile>> {
        let mut accounts: Vec<&mut Account> = match full {
            DiskFull::Session { .. } => self.sessions.get_mut(&session).into_iter().collect(),
            DiskFull::Total { .. } => self.sessions.values_mut().collect(),
        };
        accounts.sort_by_key(|account| std::cmp::Reverse(account.used()));
        accounts.into_iter().find_map(|account| {
            while let Some(file) = account.complete.pop_front() {
                if let Some(file) = file.upgrade() {
                    return Some(file);
                }
            }
            None
        })
    }
}

impl Account {
    fn used(&self) -> u64 {
        self.stored + self.temporary
    }
}

/// The file of one stored stream. It is removed with this value, or before when its room is needed.
#[derive(Debug)]
pub struct StoredFile {
    path: PathBuf,
    disk: Arc<SessionDisk>,
    bytes: AtomicU64,
    removed: AtomicBool,
    reason: Mutex<Option<DiskFull>>,
}

impl StoredFile {
    pub fn new(path: PathBuf, disk: Arc<SessionDisk>) -> Arc<Self> {
        let (bytes, removed) = (AtomicU64::new(0), AtomicBool::new(false));
        Arc::new(Self { path, disk, bytes, removed, reason: Mutex::default() })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes room before that many bytes are written.
    pub fn grow(&self, bytes: u64) -> Result<(), DiskFull> {
        self.disk.take(bytes)?;
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }

    /// Nothing more is written. From now on it may be removed when its room is needed.
    pub fn complete(self: &Arc<Self>) {
        self.disk.complete(self);
    }

    /// Why it was removed, if it was.
    pub fn removed(&self) -> Option<DiskFull> {
        *self.reason.locked()
    }

    fn remove(&self, reason: DiskFull) {
        self.reason.locked().get_or_insert(reason);
        self.give_back();
    }

    fn give_back(&self) {
        if !self.removed.swap(true, Ordering::Relaxed) {
            let bytes = self.bytes.load(Ordering::Relaxed);
            // The file is made with its first byte.
            if bytes > 0 {
                let _ = std::fs::remove_file(&self.path);
            }
            self.disk.change(|account| account.stored = account.stored.saturating_sub(bytes));
        }
    }
}

impl Drop for StoredFile {
    fn drop(&mut self) {
        self.give_back();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(directory: &Path, disk: &Arc<SessionDisk>, name: &str, bytes: u64) -> Result<Arc<StoredFile>, DiskFull> {
        let file = StoredFile::new(directory.join(name), disk.clone());
        std::fs::write(file.path(), name).unwrap();
        file.grow(bytes)?;
        file.complete();
        Ok(file)
    }

    #[test]
    fn the_oldest_outputs_make_room_and_say_why() {
        let world = tempfile::tempdir().unwrap();
        let disk = Disk::new(DiskLimits { session: 100, total: 150 });
        let (one, two) = (Arc::new(disk.session()), Arc::new(disk.session()));
        let a = stored(world.path(), &one, "a", 60).unwrap();
        let b = stored(world.path(), &one, "b", 60).unwrap();
        assert_eq!(a.removed(), Some(DiskFull::Session { used: 120, limit: 100 }));
        assert!(!a.path().exists() && b.path().exists() && b.removed().is_none());
        // The whole server is full: the session that keeps most gives way.
        let c = stored(world.path(), &two, "c", 95).unwrap();
        assert_eq!(b.removed(), Some(DiskFull::Total { used: 155, limit: 150 }));
        drop(c);
        let d = stored(world.path(), &two, "d", 100).unwrap();
        assert!(d.path().exists(), "what is dropped gives its room back");
    }

    #[test]
    fn the_temporary_directory_counts_too() {
        let world = tempfile::tempdir().unwrap();
        let disk = Disk::new(DiskLimits { session: 100, total: 150 });
        let session = Arc::new(disk.session());
        let a = stored(world.path(), &session, "a", 60).unwrap();
        assert_eq!(session.set_temporary(50), Ok(()));
        assert!(a.removed().is_some());
        assert_eq!(session.set_temporary(101), Err(DiskFull::Session { used: 101, limit: 100 }));
        assert!(session.take(1).is_err());
        assert_eq!(session.set_temporary(0), Ok(()));
        assert_eq!(session.take(1), Ok(()));
    }
}
