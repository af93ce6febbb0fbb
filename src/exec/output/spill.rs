//! All bytes of one stream. Short output stays in memory; a stream that outgrows what a result shows goes to a file.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use super::disk::{DiskFull, StoredFile};

/// Bytes a stream may have before it goes to disk.
const IN_MEMORY: usize = 64 * 1024;
/// Bytes of the end that are kept when the rest can no longer be stored.
const REMEMBERED_END: usize = 64 * 1024;
/// A file is written in whole blocks of this size. The kernel then takes its memory in large pieces, which costs a third less
/// than page by page. Larger blocks fall out of the processor's cache before they are written.
const BLOCK: usize = 32 * 1024;

/// All bytes of one stream, up to the disk budget.
#[derive(Debug)]
pub struct Spill {
    /// Where it goes when it outgrows memory.
    stored: Option<Arc<StoredFile>>,
    storage: Storage,
    budget: u64,
    seen: u64,
    loss: Option<Loss>,
    /// The last bytes that could not be stored: the end of an output is what people look at first.
    end: VecDeque<u8>,
}

#[derive(Debug)]
enum Storage {
    Memory(Vec<u8>),
    /// The file is open while the stream is written. Later it is opened for each read: a server may store thousands.
    Disk {
        file: Option<File>,
        /// Bytes in the file.
        length: u64,
        /// The bytes after them, until they fill a block.
        rest: Vec<u8>,
    },
}

/// Why the stored bytes are not all there were.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Loss {
    /// The budget of one stream.
    Budget {
        bytes: u64,
    },
    /// There was no room for more.
    Full(DiskFull),
    /// All of it was removed, to make room.
    Removed(DiskFull),
    Failed {
        reason: String,
    },
}

impl Spill {
    /// An empty one. `stored` is where it goes when it outgrows memory; without one the rest is lost, and said to be.
    pub fn new(stored: Option<Arc<StoredFile>>, budget: u64) -> Self {
        let storage = Storage::Memory(Vec::new());
        Self { stored, storage, budget, seen: 0, loss: None, end: VecDeque::new() }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        self.seen += bytes.len() as u64;
        if self.loss.is_some() {
            return self.remember_end(bytes);
        }
        if let Storage::Memory(memory) = &mut self.storage {
            if memory.len() + bytes.len() <= IN_MEMORY {
                memory.extend_from_slice(bytes);
                return;
            }
            let Err(loss) = self.move_to_disk() else { return self.append(bytes) };
            self.loss = Some(loss);
            return self.remember_end(bytes);
        }
        self.append(bytes);
    }

    /// The last bytes that the command wrote, whether they were stored or not. Of bytes that were not stored, at most
    /// [`REMEMBERED_END`] are known.
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

    pub fn loss(&self) -> Option<Loss> {
        self.removed().map(Loss::Removed).or_else(|| self.loss.clone())
    }

    /// Why its file was removed, if it was.
    pub fn removed(&self) -> Option<DiskFull> {
        self.stored.as_ref()?.removed()
    }

    /// The stream has ended.
    pub fn finish(&mut self) {
        if let (Storage::Disk { file, length, rest }, Some(stored)) = (&mut self.storage, &self.stored)
            && let Some(file) = file.take()
        {
            // If that fails, it stays in memory.
            let _ = write_block(&file, length, rest);
            rest.shrink_to_fit();
            stored.complete();
        }
    }

    /// Moves what is in memory to disk, for a stream that has ended and is kept for long. If that fails, it stays in memory.
    pub fn leave_memory(&mut self) {
        if self.move_to_disk().is_ok() {
            self.finish();
        }
    }

    /// Bytes that can be read back.
    pub fn length(&self) -> u64 {
        match &self.storage {
            Storage::Memory(memory) => memory.len() as u64,
            Storage::Disk { length, rest, .. } => *length + rest.len() as u64,
        }
    }

    /// Fills the buffer from a position on, as far as there are bytes.
    pub fn read_at(&self, position: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let (file, length, rest) = match &self.storage {
            Storage::Memory(memory) => (None, 0, memory),
            Storage::Disk { file, length, rest } => (file.as_ref(), *length, rest),
        };
        let in_file = usize::try_from(length.saturating_sub(position)).unwrap_or(usize::MAX).min(buffer.len());
        let (first, second) = buffer.split_at_mut(in_file);
        let count = match (file, &self.stored) {
            _ if first.is_empty() => 0,
            (Some(file), _) => file.read_at(first, position)?,
            (None, Some(stored)) => File::open(stored.path())?.read_at(first, position)?,
            (None, None) => 0,
        };
        if count < first.len() {
            return Ok(count);
        }
        let from = usize::try_from((position + count as u64).saturating_sub(length)).unwrap_or(usize::MAX);
        let rest = &rest[from.min(rest.len())..];
        let more = second.len().min(rest.len());
        second[..more].copy_from_slice(&rest[..more]);
        Ok(count + more)
    }

    fn move_to_disk(&mut self) -> Result<(), Loss> {
        let Storage::Memory(memory) = &self.storage else { return Ok(()) };
        let failed = |error: io::Error| Loss::Failed { reason: error.to_string() };
        let stored = self.stored.as_ref().ok_or_else(|| failed(io::Error::other("there is no directory for it")))?;
        let length = memory.len() as u64;
        stored.grow(length).map_err(Loss::Full)?;
        let mut file = create(stored.path()).map_err(failed)?;
        file.write_all(memory).map_err(failed)?;
        self.storage = Storage::Disk { length, file: Some(file), rest: Vec::new() };
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) {
        let before = self.length();
        let (Storage::Disk { file: Some(file), length, rest }, Some(stored)) = (&mut self.storage, &self.stored) else {
            return;
        };
        let room = usize::try_from(self.budget.saturating_sub(before)).unwrap_or(usize::MAX);
        let mut part = &bytes[..bytes.len().min(room)];
        if let Err(full) = stored.grow(part.len() as u64) {
            self.loss = Some(Loss::Full(full));
            part = &[];
        }
        if let Err(error) = write_blocks(file, length, rest, part) {
            self.loss = Some(Loss::Failed { reason: error.to_string() });
        } else if part.len() < bytes.len() && self.loss.is_none() {
            self.loss = Some(Loss::Budget { bytes: self.budget });
        }
        let stored = usize::try_from(self.length() - before).unwrap_or(usize::MAX).min(bytes.len());
        self.remember_end(&bytes[stored..]);
    }
}

/// Adds bytes to those that wait, and writes each block that is full. A whole block is written from where it is. What waits and
/// could not be written still waits.
fn write_blocks(file: &File, length: &mut u64, rest: &mut Vec<u8>, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let used = usize::try_from(*length % BLOCK as u64).unwrap_or(0) + rest.len();
        let (now, later) = bytes.split_at(bytes.len().min(BLOCK - used));
        if now.len() == BLOCK {
            file.write_all_at(now, *length)?;
            *length += BLOCK as u64;
        } else {
            rest.extend_from_slice(now);
            if used + now.len() == BLOCK {
                write_block(file, length, rest)?;
            }
        }
        bytes = later;
    }
    Ok(())
}

fn write_block(file: &File, length: &mut u64, rest: &mut Vec<u8>) -> io::Result<()> {
    file.write_all_at(rest, *length)?;
    *length += rest.len() as u64;
    rest.clear();
    Ok(())
}

fn create(path: &Path) -> io::Result<File> {
    File::options().read(true).write(true).create_new(true).mode(0o600).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    use super::super::disk::Disk;
    use crate::sandbox::limits::DiskLimits;

    fn spill(directory: &Path, budget: u64) -> Spill {
        let disk = Disk::new(DiskLimits { session: 1 << 30, total: 1 << 30 });
        Spill::new(Some(StoredFile::new(directory.join("1"), Arc::new(disk.session()))), budget)
    }

    fn all(spill: &Spill) -> Vec<u8> {
        let mut bytes = vec![0; usize::try_from(spill.length()).unwrap() + 10];
        let count = spill.read_at(0, &mut bytes).unwrap();
        bytes.truncate(count);
        bytes
    }

    #[test]
    fn bytes_come_back_from_memory_and_from_disk() {
        let world = tempfile::tempdir().unwrap();
        let mut spill = spill(world.path(), 1 << 20);
        spill.push(b"short");
        assert_eq!(all(&spill), b"short");
        let long = vec![b'x'; IN_MEMORY];
        spill.push(&long);
        spill.push(b"a part of a block");
        let long = [b"short", long.as_slice(), b"a part of a block"].concat();
        assert_eq!(all(&spill), long);
        assert_eq!(spill.loss(), None);
        spill.finish();
        assert_eq!(all(&spill), long, "without an open file");
        drop(spill);
        assert!(!world.path().join("1").exists());
    }

    #[test]
    fn the_budget_is_kept_and_said() {
        let world = tempfile::tempdir().unwrap();
        let mut spill = spill(world.path(), 100_000);
        spill.push(&vec![b'x'; 90_000]);
        spill.push(&vec![b'y'; 90_000]);
        spill.push(b"more");
        assert_eq!((spill.length(), spill.seen()), (100_000, 180_004));
        assert_eq!(spill.loss(), Some(Loss::Budget { bytes: 100_000 }));
    }

    #[test]
    fn the_end_is_the_commands_own_whether_it_was_stored_or_not() {
        let world = tempfile::tempdir().unwrap();
        let mut spill = spill(world.path(), 100_000);
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
}
