//! Where complete output lives: one directory per server, below the user's cache directory, one file per long stream.
//!
//! Short output never touches the disk: a [`Spill`] stays in memory until it outgrows what a result shows. The directory
//! is locked while its server lives, so that the next server can tell an abandoned one and remove it.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{FlockOperation, flock};

/// Bytes a stream may have before it goes to disk.
const IN_MEMORY: usize = 64 * 1024;
/// Bytes that are remembered of what cannot be stored.
const REMEMBERED_END: usize = 64 * 1024;
const STORES: &str = "outputs";
const LEDGER: &str = "approvals";

#[derive(Debug)]
pub struct Store {
    directory: PathBuf,
    /// Held for as long as the server lives.
    lock: Option<File>,
    next: AtomicU64,
    budget: u64,
}

impl Store {
    /// Removes what dead servers left; makes nothing until something has to be stored.
    pub fn open(parent: &Path, budget: u64) -> io::Result<Self> {
        let stores = parent.join(STORES);
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&stores)?;
        remove_abandoned(&stores);
        let directory = stores.join(format!("{}-{}", std::process::id(), crate::base::random::hex::<8>()));
        std::fs::DirBuilder::new().mode(0o700).create(&directory)?;
        let lock = create(&directory.join("lock"))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        Ok(Self { directory, lock: Some(lock), next: AtomicU64::new(0), budget })
    }

    /// A store that keeps nothing on disk: commands still run, and say that the rest of their output is lost.
    pub fn unavailable() -> Self {
        Self { directory: PathBuf::new(), lock: None, next: AtomicU64::new(0), budget: 0 }
    }

    pub fn spill(&self) -> Spill {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        Spill {
            path: self.lock.is_some().then(|| self.directory.join(number.to_string())),
            place: Place::Memory(Vec::new()),
            budget: self.budget,
            seen: 0,
            loss: None,
            end: VecDeque::new(),
        }
    }

    /// A new directory that goes with the store, for a session's temporary files. Open to every user inside, because a
    /// session may have several; the way to it is closed to everybody else.
    pub fn temporary_directory(&self) -> io::Result<PathBuf> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let parent = match self.lock {
            Some(_) => self.directory.clone(),
            None => std::env::temp_dir().join(format!("testudo-{}", crate::base::random::hex::<8>())),
        };
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&parent)?;
        let directory = parent.join(format!("tmp-{number}"));
        std::fs::create_dir(&directory)?;
        std::fs::set_permissions(&directory, std::fs::Permissions::from_mode(0o1777))?;
        directory.canonicalize()
    }

    /// Where this server's approvals are shown; it need not exist.
    pub fn ledger(&self) -> Option<PathBuf> {
        self.lock.as_ref().map(|_| self.directory.join(LEDGER))
    }

    /// The same of every server of this user that lives.
    pub fn ledgers(parent: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(parent.join(STORES)).into_iter().flatten().flatten();
        entries
            .map(|entry| entry.path())
            .filter(|directory| !is_abandoned(directory))
            .map(|it| it.join(LEDGER))
            .collect()
    }

    /// Leaves nothing on disk; called when the server ends, whoever still holds it.
    pub fn remove(&self) {
        if self.lock.is_some() {
            let _ = std::fs::remove_dir_all(&self.directory);
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.remove();
    }
}

/// All bytes of one stream, up to the disk budget.
#[derive(Debug)]
pub struct Spill {
    path: Option<PathBuf>,
    place: Place,
    budget: u64,
    seen: u64,
    loss: Option<Loss>,
    /// The last of what could not be stored: the end of an output is what people look at first.
    end: VecDeque<u8>,
}

#[derive(Debug)]
enum Place {
    Memory(Vec<u8>),
    Disk { file: File, length: u64 },
}

/// Why the stored bytes are not all there were.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Loss {
    Budget { bytes: u64 },
    Failed { reason: String },
}

impl Spill {
    pub fn push(&mut self, bytes: &[u8]) {
        self.seen += bytes.len() as u64;
        if self.loss.is_some() {
            return self.remember_end(bytes);
        }
        if let Place::Memory(memory) = &mut self.place {
            if memory.len() + bytes.len() <= IN_MEMORY {
                memory.extend_from_slice(bytes);
                return;
            }
            let Err(error) = self.move_to_disk() else { return self.append(bytes) };
            self.loss = Some(Loss::Failed { reason: error.to_string() });
            return self.remember_end(bytes);
        }
        self.append(bytes);
    }

    /// The last bytes the command wrote, stored or not; no more than are remembered of those that are not.
    pub fn end(&self, most: usize) -> Vec<u8> {
        let (lost, length) = (self.seen - self.length(), self.length());
        let mut bytes = Vec::new();
        if lost == self.end.len() as u64 {
            let from_store = most.saturating_sub(self.end.len());
            bytes.resize(from_store.min(usize::try_from(length).unwrap_or(usize::MAX)), 0);
            let count = self.read_at(length - bytes.len() as u64, &mut bytes).unwrap_or(0);
            bytes.truncate(count);
        }
        bytes.extend(self.end.iter().skip(self.end.len().saturating_sub(most)));
        bytes
    }

    fn remember_end(&mut self, bytes: &[u8]) {
        self.end.extend(&bytes[bytes.len().saturating_sub(REMEMBERED_END)..]);
        let excess = self.end.len().saturating_sub(REMEMBERED_END);
        self.end.drain(..excess);
    }

    /// Bytes the command wrote, stored or not.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    pub fn loss(&self) -> Option<&Loss> {
        self.loss.as_ref()
    }

    /// Bytes that can be read back.
    pub fn length(&self) -> u64 {
        match &self.place {
            Place::Memory(memory) => memory.len() as u64,
            Place::Disk { length, .. } => *length,
        }
    }

    /// Fills the buffer from a position, as far as there is something.
    pub fn read_at(&self, position: u64, buffer: &mut [u8]) -> io::Result<usize> {
        match &self.place {
            Place::Memory(memory) => {
                let from = usize::try_from(position).unwrap_or(usize::MAX).min(memory.len());
                let count = buffer.len().min(memory.len() - from);
                buffer[..count].copy_from_slice(&memory[from..from + count]);
                Ok(count)
            }
            Place::Disk { file, .. } => file.read_at(buffer, position),
        }
    }

    fn move_to_disk(&mut self) -> io::Result<()> {
        let Place::Memory(memory) = &self.place else { return Ok(()) };
        let path = self.path.as_deref().ok_or_else(|| io::Error::other("there is no directory for it"))?;
        let mut file = create(path)?;
        file.write_all(memory)?;
        self.place = Place::Disk { length: memory.len() as u64, file };
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) {
        let Place::Disk { file, length } = &mut self.place else { return };
        let room = usize::try_from(self.budget.saturating_sub(*length)).unwrap_or(usize::MAX);
        let part = &bytes[..bytes.len().min(room)];
        let before = *length;
        match file.write_all(part) {
            Ok(()) => *length += part.len() as u64,
            Err(error) => {
                *length = file.metadata().map_or(*length, |metadata| metadata.len());
                self.loss = Some(Loss::Failed { reason: error.to_string() });
            }
        }
        if part.len() < bytes.len() && self.loss.is_none() {
            self.loss = Some(Loss::Budget { bytes: self.budget });
        }
        let stored = usize::try_from(*length - before).unwrap_or(usize::MAX).min(bytes.len());
        self.remember_end(&bytes[stored..]);
    }
}

impl Drop for Spill {
    fn drop(&mut self) {
        if let (Place::Disk { .. }, Some(path)) = (&self.place, &self.path) {
            let _ = std::fs::remove_file(path);
        }
    }
}

fn create(path: &Path) -> io::Result<File> {
    File::options().read(true).write(true).create_new(true).mode(0o600).open(path)
}

/// A directory whose lock nobody holds belongs to a server that is gone.
fn remove_abandoned(stores: &Path) {
    let Ok(entries) = std::fs::read_dir(stores) else { return };
    for directory in entries.flatten().map(|entry| entry.path()).filter(|directory| is_abandoned(directory)) {
        let _ = std::fs::remove_dir_all(&directory);
    }
}

fn is_abandoned(directory: &Path) -> bool {
    match File::open(directory.join("lock")) {
        Ok(lock) => flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok(),
        // Between making its directory and its lock a server is a moment old, a broken one is not.
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

    fn all(spill: &Spill) -> Vec<u8> {
        let mut bytes = vec![0; usize::try_from(spill.length()).unwrap() + 10];
        let count = spill.read_at(0, &mut bytes).unwrap();
        bytes.truncate(count);
        bytes
    }

    #[test]
    fn bytes_come_back_from_memory_and_from_disk() {
        let world = tempfile::tempdir().unwrap();
        let store = Store::open(world.path(), 1 << 20).unwrap();
        let mut spill = store.spill();
        spill.push(b"short");
        assert_eq!(all(&spill), b"short");
        let long = vec![b'x'; IN_MEMORY];
        spill.push(&long);
        assert_eq!(all(&spill), [b"short", long.as_slice()].concat());
        assert_eq!(spill.loss(), None);
    }

    #[test]
    fn the_budget_is_kept_and_said() {
        let world = tempfile::tempdir().unwrap();
        let store = Store::open(world.path(), 100_000).unwrap();
        let mut spill = store.spill();
        spill.push(&vec![b'x'; 90_000]);
        spill.push(&vec![b'y'; 90_000]);
        spill.push(b"more");
        assert_eq!((spill.length(), spill.seen()), (100_000, 180_004));
        assert_eq!(spill.loss(), Some(&Loss::Budget { bytes: 100_000 }));
    }

    #[test]
    fn the_end_is_the_commands_own_whether_it_was_stored_or_not() {
        let world = tempfile::tempdir().unwrap();
        let store = Store::open(world.path(), 100_000).unwrap();
        let mut spill = store.spill();
        let written: Vec<u8> = (0..250_000_u32).map(|index| (index % 251) as u8).collect();
        let mut position = 0;
        for size in [10, 70_000, 29_000, 1_000, 500, 100_000, 7] {
            spill.push(&written[position..position + size]);
            position += size;
            for most in [1, 600, 5_000] {
                let want = &written[position.saturating_sub(most)..position];
                assert_eq!(spill.end(most), want, "the last {most} of {position}");
            }
        }
    }

    #[test]
    fn a_dead_servers_store_goes_and_a_living_ones_stays() {
        let world = tempfile::tempdir().unwrap();
        let living = Store::open(world.path(), 1).unwrap();
        let dead = world.path().join("outputs/1-dead");
        std::fs::create_dir(&dead).unwrap();
        std::fs::write(dead.join("lock"), "").unwrap();
        let _second = Store::open(world.path(), 1).unwrap();
        assert!(!dead.exists());
        assert!(living.directory.exists());
        let path = living.directory.clone();
        drop(living);
        assert!(!path.exists());
    }
}
