//! Undoes a change that may not stay, and loses nothing by it.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::entry::{Content, Entry};
use super::git::history::{FileMode, Version};
use super::git::objects::Objects;
use super::git::repository::Repository;
use super::git::{ObjectFormat, ObjectId, config, harmless, index};
use super::inventory::Inventory;
use super::item::Kind;
use super::report::{Remedy, Undone};

/// What git's index says of a file.
pub(super) struct Indexed {
    format: ObjectFormat,
    blob: ObjectId,
    executable: bool,
    conflict: bool,
}

impl Inventory {
    /// Undoes a change: an older version is put back, or what is new is moved aside. What was found is kept, unless git has
    /// it or it was kept before. Returns the version that stands there now, if there is one.
    pub(super) fn undo(
        &mut self,
        path: &Path,
        kind: Kind,
        because: String,
        found: Vec<(PathBuf, Entry)>,
        before: Option<&Entry>,
    ) -> (Undone, Option<Entry>) {
        let only = found.first().filter(|_| found.len() == 1).map(|(_, entry)| entry.clone());
        let indexed = self.index_entry(path).filter(|_| before.is_some());
        let in_git = indexed.as_ref().zip(only.as_ref()).is_some_and(|(indexed, found)| indexed.is(found));
        let kept = in_git || only.as_ref().is_some_and(|only| self.moved.get(path) == Some(&only.content));
        let version = match before {
            Some(before) => Some(self.version_of_git(path, before, indexed.as_ref()).unwrap_or_else(|| before.clone())),
            None if kind == Kind::Config => Some(self.harmless_part(path, only.as_ref())),
            None => None,
        };
        let done = match &version {
            Some(version)
                if only.as_ref().is_some_and(|only| only.bytes().is_some() && only.bytes() == version.bytes()) =>
            {
                self.root.set_mode(path, version.mode).map(|()| None)
            }
            Some(version) => self.root.replace(path, version, !found.is_empty() && !kept),
            None if kept => self.root.remove_file(path).map(|()| None),
            None => self.root.move_aside(path).map(Some),
        };
        let (aside, failed) = match done {
            Ok(aside) => (aside, None),
            Err(error) => (None, Some(error.to_string())),
        };
        self.moved.extend(only.map(|only| (path.to_owned(), only.content)));
        let locked = before.is_some() && matches!(kind, Kind::Name | Kind::Hooks) && !self.tracked.contains(path);
        let readable = found.iter().all(|(_, entry)| !matches!(entry.content, Content::Unknown(_)));
        let remedy = match &indexed {
            Some(indexed) if indexed.conflict => Remedy::Conflict,
            _ if in_git => Remedy::Checkout,
            _ => Remedy::Move,
        };
        // If a process replaces it again right now, the next look finds that: the stamp is not trusted.
        let stands = version.as_ref().or(before).map(|version| {
            let stamp = self.root.stamp(path).unwrap_or(version.stamp);
            Entry { stamp, settled: false, ..version.clone() }
        });
        let undone = Undone {
            may_stay: !locked && !found.is_empty() && readable && failed.is_none(),
            path: self.root.path().join(path),
            relative: path.to_owned(),
            name: self.names.protecting(path).unwrap_or("git configuration").to_owned(),
            because,
            aside,
            found,
            put_back: version.is_some(),
            is_new: before.is_none(),
            remedy,
            failed,
        };
        (undone, stands)
    }

    /// The version that git has checked out meanwhile, if the person had not changed the file and the repository held that
    /// version when the session began: the working tree is then as git expects it.
    fn version_of_git(&self, path: &Path, before: &Entry, indexed: Option<&Indexed>) -> Option<Entry> {
        let indexed = indexed.filter(|_| self.is_held(path, before))?;
        let mode = if indexed.executable { FileMode::Executable } else { FileMode::Plain };
        let (_, repository) = self.holder_of(path, &|_| Some(Version::named(indexed.blob, mode)))?;
        let (_, bytes) = Objects::open(&repository.common.join("objects"), indexed.format).read(&indexed.blob)?;
        Some(Entry { own: before.own, ..Entry::file(&bytes, if indexed.executable { 0o755 } else { 0o644 }) })
    }

    /// The harmless settings of a new configuration.
    fn harmless_part(&self, path: &Path, found: Option<&Entry>) -> Entry {
        let settings = found.and_then(Entry::bytes).and_then(|bytes| config::parse(bytes).ok()).unwrap_or_default();
        let fine = |setting: &config::Setting| harmless::is_harmless(setting, &|value| self.is_worktree(path, value));
        let kept: Vec<config::Setting> = settings.into_iter().filter(fine).collect();
        Entry { own: false, ..Entry::file(&config::write(&kept), 0o644) }
    }

    /// What git's index says of a path now. Of a file with a conflict, the version of the current branch counts.
    pub(super) fn index_entry(&self, path: &Path) -> Option<Indexed> {
        let full = self.root.path().join(path);
        let repository = Repository::around(full.parent()?)?;
        let (wanted, format) = (full.strip_prefix(&repository.top).ok()?, repository.format());
        let mut found = None;
        index::read(&repository.git, format, |tracked| {
            if tracked.path == wanted.as_os_str().as_bytes() && !tracked.left_out && matches!(tracked.stage, 0 | 2) {
                let (blob, executable, conflict) = (tracked.blob, tracked.executable, tracked.stage > 0);
                found = Some(Indexed { format, blob, executable, conflict });
            }
        });
        found
    }
}

impl Indexed {
    fn is(&self, entry: &Entry) -> bool {
        entry.bytes().is_some_and(|bytes| self.format.of("blob", bytes) == self.blob)
    }
}
