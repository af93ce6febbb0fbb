use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::entry::Entry;
use super::root::Root;

/// Something protected that stands in the scope: a file, or a directory with everything in it.
#[derive(Clone, Debug)]
pub struct Item {
    pub kind: Kind,
    /// What is at and below its path, by paths relative to the root.
    pub entries: BTreeMap<PathBuf, Entry>,
    /// Commands find all of it mounted read-only, where there are mounts.
    pub locked: bool,
    /// It has more files than are remembered, so a file that is not known need not be new.
    partial: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// It has a protected name.
    Name,
    /// The directory in which git looks for hooks.
    Hooks,
    /// git reads settings from it.
    Config,
    /// It tells git where to find a repository: a `.git` that is not a directory, or `commondir`.
    Pointer,
}

/// A difference between the inventory and what exists.
#[derive(Clone, Debug)]
pub struct Change {
    pub path: PathBuf,
    pub before: Option<Entry>,
    pub after: Option<Entry>,
}

/// How closely an item is compared.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Care {
    /// The path must still name the same file. Enough for what is mounted read-only.
    Identity,
    /// Files with the same stamp are taken to be unchanged.
    Stamps,
    /// Every file is read. A program that has mapped a file into memory can write it without changing its stamp.
    Contents,
}

const MOST_FILES: usize = 4_000;

impl Item {
    pub fn read(root: &Root, path: &Path, kind: Kind) -> Self {
        let mut item = Self { kind, entries: BTreeMap::new(), locked: false, partial: false };
        item.partial = !add(root, path, &mut item.entries);
        item
    }

    /// Whether the stamps tell of no change.
    pub fn is_same(&self, root: &Root, path: &Path, care: Care) -> bool {
        let same = |(path, entry): (&PathBuf, &Entry)| {
            entry.settled && root.stamp(path) == Some(entry.stamp) || !root.answers(path)
        };
        match care {
            Care::Identity => self.is_same_file(root, path),
            Care::Stamps => self.entries.iter().all(same),
            Care::Contents => false,
        }
    }

    fn is_same_file(&self, root: &Root, path: &Path) -> bool {
        let known = self.entries.get(path).map(|entry| entry.stamp);
        known.zip(root.stamp(path)).is_some_and(|(known, now)| known.is_same_file(&now)) || !root.answers(path)
    }

    /// What differs now. Entries that only have a new stamp are brought up to date.
    pub fn changes(&mut self, root: &Root, path: &Path, care: Care) -> Vec<Change> {
        if care == Care::Identity && self.is_same_file(root, path) {
            return Vec::new();
        }
        let mut changes = Vec::new();
        let mut relisted = Vec::new();
        for (path, entry) in &mut self.entries {
            let now = root.stamp(path);
            let trusted = entry.settled && (care != Care::Contents || entry.is_directory());
            if trusted && now == Some(entry.stamp) || !root.answers(path) {
                continue;
            }
            let after = root.entry(path);
            match &after {
                Some(after) if after.content == entry.content => {
                    // A file that is not the same one any more is reported even so: it has lost its mount.
                    if after.stamp.is_same_file(&entry.stamp) || after.is_directory() {
                        (entry.stamp, entry.settled, entry.mode) = (after.stamp, after.settled, after.mode);
                    } else {
                        changes.push(Change {
                            path: path.clone(),
                            before: Some(entry.clone()),
                            after: Some(after.clone()),
                        });
                    }
                }
                _ => changes.push(Change { path: path.clone(), before: Some(entry.clone()), after: after.clone() }),
            }
            if after.is_some_and(|after| after.is_directory()) {
                relisted.push(path.clone());
            }
        }
        if !self.partial {
            for directory in relisted {
                self.add_new(root, &directory, &mut changes);
            }
        }
        changes
    }

    /// What has come into a directory.
    fn add_new(&self, root: &Root, directory: &Path, changes: &mut Vec<Change>) {
        let Ok(listing) = root.list(directory) else { return };
        for (name, _) in listing.names {
            let path = directory.join(name);
            if self.entries.contains_key(&path) {
                continue;
            }
            let mut entries = BTreeMap::new();
            add(root, &path, &mut entries);
            changes.extend(entries.into_iter().map(|(path, after)| Change { path, before: None, after: Some(after) }));
        }
    }

    /// What is new at a path was not entered. Its directory is read again, or the next look would not find it.
    pub fn look_again(&mut self, path: &Path) {
        if let Some(directory) = path.parent().and_then(|directory| self.entries.get_mut(directory)) {
            directory.settled = false;
        }
    }

    /// Enters what was found at a path.
    pub fn accept(&mut self, path: &Path, entry: Option<Entry>) {
        match entry {
            Some(entry) => drop(self.entries.insert(path.to_owned(), entry)),
            None => drop(self.entries.remove(path)),
        }
    }
}

/// Adds everything at and below a path. Returns whether all of it found room.
fn add(root: &Root, path: &Path, entries: &mut BTreeMap<PathBuf, Entry>) -> bool {
    let mut next = vec![path.to_owned()];
    while let Some(path) = next.pop() {
        if entries.len() >= MOST_FILES {
            return false;
        }
        let Some(entry) = root.entry(&path) else { continue };
        if entry.is_directory()
            && let Ok(listing) = root.list(&path)
        {
            next.extend(listing.names.into_iter().map(|(name, _)| path.join(name)));
        }
        entries.insert(path, entry);
    }
    true
}
