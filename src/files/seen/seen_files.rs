use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rustix::fs::Stat;

use crate::base::locks::LockExt;

/// The files as a session last saw or wrote them, so that an edit made on an old picture is noticed. Small files are
/// remembered whole; of large ones only what the file system says about them.
#[derive(Debug, Default)]
pub struct SeenFiles {
    files: Mutex<Files>,
}

#[derive(Debug, Default)]
struct Files {
    seen: HashMap<PathBuf, (u64, LastSeen)>,
    bytes: usize,
    clock: u64,
}

/// One file as it was.
#[derive(Clone, Debug)]
pub enum LastSeen {
    Content(Arc<[u8]>),
    Signature(Signature),
}

/// Changes with every write, as far as the clock of the file system can tell.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Signature {
    device: u64,
    inode: u64,
    size: i64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Signature {
    #[expect(clippy::cast_possible_wrap, reason = "nanoseconds are fewer than a billion")]
    pub fn of(stat: &Stat) -> Self {
        Self {
            device: stat.st_dev,
            inode: stat.st_ino,
            size: stat.st_size,
            modified: (stat.st_mtime, stat.st_mtime_nsec as i64),
            changed: (stat.st_ctime, stat.st_ctime_nsec as i64),
        }
    }
}

/// A file up to this size is remembered whole.
pub const LARGEST_CONTENT: u64 = 1 << 20;
/// What all of them may take; the ones seen longest ago are forgotten first.
const MOST_BYTES: usize = 8 << 20;
const MOST_FILES: usize = 4_096;

impl SeenFiles {
    pub fn get(&self, path: &Path) -> Option<LastSeen> {
        self.lock().seen.get(path).map(|(_, seen)| seen.clone())
    }

    /// What a session saw or wrote just now.
    pub fn note(&self, path: &Path, content: &[u8], stat: &Stat) {
        let seen = if content.len() as u64 <= LARGEST_CONTENT {
            LastSeen::Content(content.into())
        } else {
            LastSeen::Signature(Signature::of(stat))
        };
        self.insert(path, seen);
    }

    /// The same for a file of which only a window was read.
    pub fn note_signature(&self, path: &Path, stat: &Stat) {
        self.insert(path, LastSeen::Signature(Signature::of(stat)));
    }

    fn insert(&self, path: &Path, seen: LastSeen) {
        let mut files = self.lock();
        files.clock += 1;
        let now = files.clock;
        files.bytes += weight(&seen);
        if let Some((_, old)) = files.seen.insert(path.to_owned(), (now, seen)) {
            files.bytes -= weight(&old);
        }
        while files.bytes > MOST_BYTES || files.seen.len() > MOST_FILES {
            let oldest = files.seen.iter().min_by_key(|(_, (when, _))| *when).map(|(path, _)| path.clone());
            let Some((_, old)) = oldest.and_then(|path| files.seen.remove(&path)) else { break };
            files.bytes -= weight(&old);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Files> {
        self.files.locked()
    }
}

fn weight(seen: &LastSeen) -> usize {
    match seen {
        LastSeen::Content(content) => content.len(),
        LastSeen::Signature(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded_and_the_oldest_goes_first() {
        let seen = SeenFiles::default();
        let stat = rustix::fs::stat("/").unwrap();
        let content = vec![b'x'; 1 << 20];
        for number in 0..10 {
            seen.note(Path::new(&format!("/{number}")), &content, &stat);
        }
        assert!(seen.get(Path::new("/1")).is_none());
        assert!(seen.get(Path::new("/2")).is_some());
        assert_eq!(seen.lock().bytes, 8 << 20);
    }
}
