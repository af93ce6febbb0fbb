use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rustix::fs::Stat;

use super::Signature;
use crate::base::locks::LockExt;

/// The files as a session last read or wrote them, so that an edit based on an old version is noticed. Small files are kept
/// whole; of large ones only the [`Signature`] is kept.
#[derive(Debug, Default)]
pub struct SeenFiles {
    files: Mutex<Files>,
}

#[derive(Debug, Default)]
struct Files {
    /// Each file with the time of `clock` at which it was recorded.
    seen: HashMap<PathBuf, (u64, LastSeen)>,
    bytes: usize,
    clock: u64,
}

/// One file as it was when the session last saw it.
#[derive(Clone, Debug)]
pub enum LastSeen {
    Content(Arc<[u8]>),
    Signature(Signature),
}

/// A file up to this size is kept whole, in bytes.
pub const LARGEST_CONTENT: u64 = 1 << 20;
/// How many bytes all kept files may have. The ones seen longest ago are forgotten first.
const MOST_BYTES: usize = 8 << 20;
const MOST_FILES: usize = 4_096;

impl SeenFiles {
    pub fn last_seen(&self, path: &Path) -> Option<LastSeen> {
        self.files.locked().seen.get(path).map(|(_, seen)| seen.clone())
    }

    /// Records a file that the session has just read or written.
    pub fn record(&self, path: &Path, content: &[u8], stat: &Stat) {
        let seen = if content.len() as u64 <= LARGEST_CONTENT {
            LastSeen::Content(content.into())
        } else {
            LastSeen::Signature(Signature::of(stat))
        };
        self.insert(path, seen);
    }

    /// Records a file of which the session has read a part only.
    pub fn record_signature(&self, path: &Path, stat: &Stat) {
        self.insert(path, LastSeen::Signature(Signature::of(stat)));
    }

    fn insert(&self, path: &Path, seen: LastSeen) {
        let mut files = self.files.locked();
        files.clock += 1;
        let now = files.clock;
        files.bytes += size_of(&seen);
        if let Some((_, old)) = files.seen.insert(path.to_owned(), (now, seen)) {
            files.bytes -= size_of(&old);
        }
        while files.bytes > MOST_BYTES || files.seen.len() > MOST_FILES {
            let oldest = files.seen.iter().min_by_key(|(_, (when, _))| *when).map(|(path, _)| path.clone());
            let Some((_, old)) = oldest.and_then(|path| files.seen.remove(&path)) else { break };
            files.bytes -= size_of(&old);
        }
    }
}

fn size_of(seen: &LastSeen) -> usize {
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
            seen.record(Path::new(&format!("/{number}")), &content, &stat);
        }
        assert!(seen.last_seen(Path::new("/1")).is_none());
        assert!(seen.last_seen(Path::new("/2")).is_some());
        assert_eq!(seen.files.locked().bytes, 8 << 20);
    }
}
