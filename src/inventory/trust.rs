//! Which content may stand under a protected name: what the person has put there, and what the repository held when the
//! session began.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::entry::{Content, Entry};
use super::git::ObjectFormat;
use super::git::history::{FileMode, Version, holds};
use super::git::objects::Objects;
use super::git::refs::{Which, tips};
use super::git::repository::Repository;
use super::inventory::Inventory;

/// A repository that holds a version of a file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Holder {
    /// It existed when the inventory was begun, and a commit of that time holds the version.
    Known,
    /// A command has cloned it to this directory of the scope.
    Clone { top: PathBuf },
}

impl Inventory {
    /// The person's content may stand wherever its name does: a directory may be copied or moved.
    pub(super) fn trust(&mut self, path: &Path, entry: Option<&Entry>) {
        if let Some(entry) = entry.filter(|entry| matches!(entry.content, Content::File { .. } | Content::Link(_))) {
            self.trusted.insert((self.tail(path), entry.content.clone()));
        }
    }

    /// The part of a path from its protected name on: `.vscode/tasks.json` of `a/b/.vscode/tasks.json`.
    pub(super) fn tail(&self, path: &Path) -> PathBuf {
        match self.place_of(path) {
            Some(place) => path.strip_prefix(place).unwrap_or(path).to_owned(),
            None => path.to_owned(),
        }
    }

    /// The directory in which the protected name stands.
    pub(super) fn place_of(&self, path: &Path) -> Option<PathBuf> {
        let item = path.ancestors().find(|above| self.names.is_one(above))?;
        let mut place = item.parent()?;
        // The name may consist of several: `.vscode/tasks.json`.
        while !self.names.is_one(item.strip_prefix(place).ok()?) {
            place = place.parent()?;
        }
        Some(place.to_owned())
    }

    pub(super) fn is_held(&self, path: &Path, entry: &Entry) -> bool {
        self.holder(path, entry) == Some(Holder::Known)
    }

    /// The repository whose commits hold this version of the file.
    pub(super) fn holder(&self, path: &Path, entry: &Entry) -> Option<Holder> {
        let (content, mode) = match &entry.content {
            Content::File { bytes, executable: true } => (&bytes[..], FileMode::Executable),
            Content::File { bytes, .. } => (&bytes[..], FileMode::Plain),
            Content::Link(target) => (target.as_os_str().as_bytes(), FileMode::Link),
            Content::Directory | Content::Unknown(_) => return None,
        };
        self.holder_of(path, &|format| Some(Version::of(content, mode, format))).map(|(holder, _)| holder)
    }

    /// The same for a version that depends on how the repository names its objects.
    pub(super) fn holder_of(
        &self,
        path: &Path,
        version: &dyn Fn(ObjectFormat) -> Option<Version>,
    ) -> Option<(Holder, Repository)> {
        let full = self.root.path().join(path);
        let repository = Repository::around(full.parent()?)?;
        let within: Vec<&[u8]> = full.strip_prefix(&repository.top).ok()?.iter().map(OsStrExt::as_bytes).collect();
        let (holder, format, found) = if let Some((format, tips)) = self.histories.get(&repository.common) {
            (Holder::Known, *format, tips.clone())
        } else {
            // A command can make commits of its own. At the top of the scope they do not count.
            let top = repository.top.strip_prefix(self.root.path()).ok()?.to_owned();
            if top.as_os_str().is_empty() {
                return None;
            }
            let format = repository.format();
            (Holder::Clone { top }, format, tips(&repository.common, format, Which::Remotes))
        };
        let mut objects = Objects::open(&repository.common.join("objects"), format);
        holds(&mut objects, &found, &within, &version(format)?, self.patience).then_some((holder, repository))
    }
}
