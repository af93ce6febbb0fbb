//! Opens what a path in one of the two trees leads to. Follows no link.

use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags};

use super::facts::Facts;

/// Opens the directory that a path is in.
pub fn parent_of(root: BorrowedFd<'_>, path: &Path) -> Option<(OwnedFd, OsString)> {
    let name = path.file_name()?.to_owned();
    let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Some((rustix::fs::openat2(root, above, flags, Mode::empty(), resolve).ok()?, name))
}

/// What is at a path.
pub fn facts_of(root: BorrowedFd<'_>, path: &Path) -> Option<Facts> {
    let (directory, name) = parent_of(root, path)?;
    Facts::of(&directory, &name).ok().flatten()
}

/// As [`parent_of`], for one path after another: most lie beside the one before.
pub struct Parents<'a> {
    root: BorrowedFd<'a>,
    last: Option<(PathBuf, OwnedFd)>,
}

impl<'a> Parents<'a> {
    pub fn new(root: BorrowedFd<'a>) -> Self {
        Self { root, last: None }
    }

    pub fn of(&mut self, path: &Path) -> Option<BorrowedFd<'_>> {
        let parent = path.parent()?;
        if self.last.as_ref().is_none_or(|(known, _)| known != parent) {
            self.last = Some((parent.to_owned(), parent_of(self.root, path)?.0));
        }
        self.last.as_ref().map(|(_, directory)| directory.as_fd())
    }
}
