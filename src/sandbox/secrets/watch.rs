//! Notices that secrets may have come, gone or changed. The kernel tells when something has happened to one of the directories
//! and files that matter. Then, or where it cannot tell, a few dozen `stat` calls show it: a directory's times change when a
//! name in it does.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::mask::{Mask, Shows};
use super::names::Names;
use crate::base::identity::Identity;
use crate::base::mounts;
use crate::base::path_notices::PathNotices;

/// A mask, and a number that changes when what the mask has to do changes.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Stamped {
    pub mask: Mask,
    pub stamp: u64,
}

impl Stamped {
    fn new(mask: Mask, above: Option<&Path>, names: &mut Names) -> Self {
        let mut hash = DefaultHasher::new();
        let identity = if names.may_have(&mask.at) { Identity::of(&mask.at) } else { None };
        identity.hash(&mut hash);
        // Where the directory above it is missing, that one is masked instead.
        above.hash(&mut hash);
        match &mask.shows {
            // Only another file in its place matters.
            Shows::Nothing => {}
            Shows::Only(_) => shown_files(&mask).iter().for_each(|file| {
                let stamp = if names.may_have(file) { Stamp::of(file) } else { None };
                (file, stamp).hash(&mut hash);
            }),
            Shows::Cleaned { .. } => Stamp::of(&mask.at).hash(&mut hash),
        }
        Self { stamp: hash.finish(), mask }
    }
}

fn shown_files(mask: &Mask) -> Vec<PathBuf> {
    mask.shown_entries().iter().map(|entry| mask.at.join(entry)).collect()
}

/// The times and the size of a file or directory.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
struct Stamp {
    inode: (u64, u64),
    times: [i64; 4],
    size: u64,
}

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
        let found = if mounts::answers(path) { path.metadata() } else { return None };
        found.ok().map(|found| Self {
            inode: (found.dev(), found.ino()),
            times: [found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec()],
            size: found.len(),
        })
    }
}

#[derive(Debug)]
pub struct Watch {
    stamps: BTreeMap<PathBuf, Option<Stamp>>,
    /// `None` where the kernel cannot tell: it has no more watches for this user, a path leads over a link, or another machine
    /// can change what is there.
    notices: Option<PathNotices>,
    /// Nothing had changed after so many notices.
    unchanged_at: AtomicU64,
}

impl Watch {
    /// Looks at the masks as they are now. What changes from now on is noticed.
    pub fn begin(masks: Vec<Mask>) -> (Self, Vec<Stamped>) {
        let mut watch =
            Self { stamps: BTreeMap::new(), notices: PathNotices::begin().ok(), unchanged_at: AtomicU64::new(0) };
        let mut directories = HashMap::new();
        // First what is watched, then what is read, so that a change in between is noticed.
        for mask in &masks {
            if let Some(parent) = mask.at.parent() {
                let existing = || parent.ancestors().find(|above| above.is_dir()).map(Path::to_owned);
                let above = directories.entry(parent.to_owned()).or_insert_with(existing);
                above.clone().into_iter().for_each(|above| watch.add(above));
            }
            match &mask.shows {
                Shows::Only(_) if mask.at.is_dir() => {
                    shown_files(mask).into_iter().chain([mask.at.clone()]).for_each(|path| watch.add(path));
                }
                Shows::Cleaned { .. } if mask.at.exists() => watch.add(mask.at.clone()),
                Shows::Nothing | Shows::Only(_) | Shows::Cleaned { .. } => {}
            }
        }
        let above = |mask: &Mask| directories.get(mask.at.parent()?).cloned().flatten();
        let mut names = Names::default();
        let stamped = masks.into_iter().map(|mask| {
            let above = above(&mask);
            Stamped::new(mask, above.as_deref(), &mut names)
        });
        let stamped = stamped.collect();
        (watch, stamped)
    }

    fn add(&mut self, path: PathBuf) {
        let notices = &mut self.notices;
        self.stamps.entry(path).or_insert_with_key(|path| {
            let has_links = || path.canonicalize().ok().as_ref() != Some(path);
            if mounts::may_hang(path) || has_links() || notices.as_mut().is_some_and(|list| list.add(path).is_err()) {
                *notices = None;
            }
            Stamp::of(path)
        });
    }

    /// Whether one of the places it looks at lies on a file system that may stop answering.
    pub fn may_hang(&self) -> bool {
        mounts::any_may_hang() && self.stamps.keys().any(|path| mounts::may_hang(path))
    }

    pub fn has_changed(&self) -> bool {
        let count = self.notices.as_ref().map(PathNotices::count);
        if count.is_some_and(|count| count == self.unchanged_at.load(Ordering::Acquire)) {
            return false;
        }
        let changed = self.stamps.iter().any(|(path, stamp)| Stamp::of(path) != *stamp);
        if let (Some(count), false) = (count, changed) {
            self.unchanged_at.fetch_max(count, Ordering::Release);
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_a_replaced_and_a_rewritten_file_are_noticed() {
        let world = tempfile::tempdir().unwrap();
        let home = world.path().canonicalize().unwrap();
        std::fs::create_dir(home.join(".config")).unwrap();
        std::fs::write(home.join(".npmrc"), "a=1\n").unwrap();
        let format = crate::sandbox::cleaning::Format::Assignments;
        let masks = [
            Mask::hidden(home.join(".netrc")),
            Mask::hidden(home.join(".config/gh/hosts.yml")),
            Mask { at: home.join(".npmrc"), shows: Shows::Cleaned { format, variable: None } },
        ];
        let quiet = || {
            let (watch, stamped) = Watch::begin(masks.to_vec());
            assert!(!watch.has_changed());
            (watch, stamped)
        };
        let (watch, _) = quiet();
        std::fs::write(home.join(".netrc"), "x").unwrap();
        assert!(watch.has_changed(), "a new secret");
        let (watch, _) = quiet();
        std::fs::create_dir(home.join(".config/gh")).unwrap();
        assert!(watch.has_changed(), "a new directory of one");
        let (watch, before) = quiet();
        std::fs::write(home.join(".npmrc"), "a=1\nb=22\n").unwrap();
        assert!(watch.has_changed(), "new content");
        let (_, after) = quiet();
        assert_eq!((&after[0], &after[1]), (&before[0], &before[1]));
        assert_ne!(after[2], before[2]);
    }
}
