//! Remembers the directories below a root. A directory is read again only if the time of its last change says so: adding,
//! renaming or removing a name changes it, and no program can set it.

use std::collections::{BTreeMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::SystemTime;

use rustix::fs::FileType;

use super::entry::Stamp;
use super::root::{Listing, Root};

#[derive(Debug, Default)]
pub struct Tree {
    top: Directory,
}

#[derive(Debug)]
struct Directory {
    /// `None` before it was read.
    stamp: Option<Stamp>,
    /// Whether a later change is sure to change the stamp. If not, it is read again.
    settled: bool,
    /// The latest time at which it can have got its place here.
    arrived: SystemTime,
    children: BTreeMap<OsString, Directory>,
}

impl Default for Directory {
    fn default() -> Self {
        Self { stamp: None, settled: false, arrived: SystemTime::UNIX_EPOCH, children: BTreeMap::new() }
    }
}

/// What a look at one directory gave.
pub enum Look {
    Gone,
    /// As it was when it was last read.
    Same,
    Changed(Listing),
}

impl Tree {
    /// Looks at a directory. After [`Look::Changed`] the caller adds the directories in it with [`Tree::enter`].
    pub fn look(&mut self, root: &Root, path: &Path) -> Look {
        let now = SystemTime::now();
        let known = self.find(path).filter(|directory| directory.settled).and_then(|directory| directory.stamp);
        if known.is_some() && known == root.stamp(path) {
            return Look::Same;
        }
        let Ok(listing) = root.list(path) else {
            self.forget(path);
            return Look::Gone;
        };
        if let Some(directory) = self.find_mut(path) {
            directory.settled = listing.stamp.is_settled(now);
            directory.stamp = Some(listing.stamp);
            let directories = listing.names.iter().filter(|(_, kind)| *kind == FileType::Directory);
            let directories: HashSet<&OsStr> = directories.map(|(name, _)| name.as_os_str()).collect();
            directory.children.retain(|name, _| directories.contains(name.as_os_str()));
        }
        Look::Changed(listing)
    }

    /// Whether a directory is as it was when it was last read.
    pub fn is_same(&self, root: &Root, path: &Path) -> bool {
        let known = self.find(path).filter(|directory| directory.settled).and_then(|directory| directory.stamp);
        known == root.stamp(path)
    }

    /// Notes that a directory was found in a listing. `baseline` says that everything there counts as old. Returns whether
    /// it is new at this place.
    pub fn enter(&mut self, root: &Root, path: &Path, parent: &Stamp, baseline: bool) -> bool {
        let (Some(name), Some(above)) = (path.file_name(), path.parent()) else { return false };
        let Some(above) = self.find_mut(above) else { return false };
        let known = above.children.get(name);
        let now = root.stamp(path);
        let same = match (known.map(|directory| directory.stamp), &now) {
            (Some(Some(before)), Some(now)) => before.is_same_file(now),
            // It has not been read since it was found.
            (Some(None), Some(_)) => true,
            _ => false,
        };
        if !same {
            let changed = now.map_or(SystemTime::UNIX_EPOCH, |now| now.changed());
            let arrived = if baseline { SystemTime::UNIX_EPOCH } else { changed.max(parent.changed()) };
            above.children.insert(name.to_owned(), Directory { arrived, ..Directory::default() });
        }
        !same
    }

    /// The directories directly below one that is known.
    pub fn children(&self, path: &Path) -> Vec<OsString> {
        self.find(path).map(|directory| directory.children.keys().cloned().collect()).unwrap_or_default()
    }

    /// Whether it was seen before.
    pub fn knows(&self, path: &Path) -> bool {
        self.find(path).is_some()
    }

    /// The latest time at which any directory on the way to this path can have got its place.
    pub fn arrived(&self, path: &Path) -> SystemTime {
        let (mut directory, mut latest) = (&self.top, self.top.arrived);
        for name in path {
            let Some(child) = directory.children.get(name) else { break };
            directory = child;
            latest = latest.max(directory.arrived);
        }
        latest
    }

    fn find(&self, path: &Path) -> Option<&Directory> {
        path.iter().try_fold(&self.top, |directory, name| directory.children.get(name))
    }

    fn find_mut(&mut self, path: &Path) -> Option<&mut Directory> {
        path.iter().try_fold(&mut self.top, |directory, name| directory.children.get_mut(name))
    }

    fn forget(&mut self, path: &Path) {
        let name: &OsStr = path.file_name().unwrap_or_default();
        if let Some(above) = path.parent().and_then(|above| self.find_mut(above)) {
            above.children.remove(name);
        }
    }
}
