use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use crate::base::locks::LockExt;

/// The threads that walk one tree together. A walker that is made for a directory first reads the ignore files of all
/// directories above it, so the tree is shared out in few large parts: the directories of the top are dealt out in as many
/// parts as keep everybody busy. Towards the end, who has nothing to do waits here, and who comes to a directory while
/// somebody waits leaves that directory to them.
///
/// ripgrep's own parallel walker does the same, but it waits for ever for a thread that could not be started.
pub struct Crew {
    parts: Mutex<Parts>,
    changed: Condvar,
    /// How many threads wait for a part. It is read for every directory, so it has no lock.
    waiting: AtomicUsize,
    threads: usize,
}

struct Parts {
    /// Directories that nobody walks yet.
    left: Vec<Vec<PathBuf>>,
    /// How many parts are being walked.
    walked: usize,
}

/// Directories that one thread walks. Dropping it says that the thread is done with them.
pub struct Part<'a> {
    crew: &'a Crew,
    directories: Vec<PathBuf>,
}

/// How many parts each thread gets of the directories that are dealt out. Parts are of different sizes.
const PARTS_EACH: usize = 4;

impl Crew {
    pub fn new(top: PathBuf, threads: usize) -> Self {
        let parts = Parts { left: vec![vec![top]], walked: 0 };
        Self { parts: Mutex::new(parts), changed: Condvar::new(), waiting: AtomicUsize::new(0), threads }
    }

    /// The next directories to walk, once there are some. `None` when the whole tree has been walked.
    pub fn next_part(&self) -> Option<Part<'_>> {
        let mut parts = self.parts.locked();
        loop {
            if let Some(directories) = parts.left.pop() {
                parts.walked += 1;
                return Some(Part { crew: self, directories });
            }
            if parts.walked == 0 {
                return None;
            }
            self.waiting.fetch_add(1, Ordering::Relaxed);
            parts = self.changed.wait(parts).unwrap_or_else(PoisonError::into_inner);
            self.waiting.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Shares out directories among all threads.
    pub fn deal(&self, mut directories: Vec<PathBuf>) {
        let each = directories.len().div_ceil(self.threads * PARTS_EACH).max(1);
        let mut parts = self.parts.locked();
        while !directories.is_empty() {
            let rest = directories.split_off(each.min(directories.len()));
            parts.left.push(std::mem::replace(&mut directories, rest));
        }
        self.changed.notify_all();
    }

    /// Whether somebody who waits takes over a directory.
    pub fn take_over(&self, directory: &Path) -> bool {
        if self.waiting.load(Ordering::Relaxed) == 0 {
            return false;
        }
        let mut parts = self.parts.locked();
        let wanted = self.waiting.load(Ordering::Relaxed) > parts.left.len();
        if wanted {
            parts.left.push(vec![directory.to_owned()]);
            self.changed.notify_one();
        }
        wanted
    }

    /// Drops what is left, because the walk is interrupted.
    pub fn disband(&self) {
        self.parts.locked().left.clear();
    }
}

impl Part<'_> {
    pub fn directories(&self) -> &[PathBuf] {
        &self.directories
    }
}

impl Drop for Part<'_> {
    fn drop(&mut self) {
        let mut parts = self.crew.parts.locked();
        parts.walked -= 1;
        if parts.walked == 0 && parts.left.is_empty() {
            self.crew.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_directory_is_walked_once_however_it_is_shared_out() {
        // Each directory has three below it, four levels deep.
        fn walk(crew: &Crew, walked: &Mutex<Vec<PathBuf>>, directory: &Path) {
            walked.locked().push(directory.to_owned());
            if directory.components().count() < 5 {
                for name in ["a", "b", "c"] {
                    let below = directory.join(name);
                    if !crew.take_over(&below) {
                        walk(crew, walked, &below);
                    }
                }
            }
        }
        let crew = Crew::new(PathBuf::from("0"), 4);
        let walked = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while let Some(part) = crew.next_part() {
                        if part.directories() == [PathBuf::from("0")] {
                            walked.locked().push(PathBuf::from("0"));
                            crew.deal(["a", "b", "c"].map(|name| Path::new("0").join(name)).to_vec());
                            continue;
                        }
                        part.directories().iter().for_each(|directory| walk(&crew, &walked, directory));
                    }
                });
            }
        });
        let walked = walked.into_inner().unwrap();
        assert_eq!(walked.len(), 1 + 3 + 9 + 27 + 81);
        assert_eq!(walked.iter().collect::<BTreeSet<_>>().len(), walked.len());
    }
}
