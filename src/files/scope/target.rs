use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::resolve::Resolved;
use super::{PathHandle, RequestedPath, Scope};
use crate::files::FileError;

/// A place to write: a directory handle, a name in it, and what stands there now. Links are resolved, so a write never
/// replaces one.
#[derive(Debug)]
pub struct Target {
    path: PathBuf,
    directory: OwnedFd,
    /// Directories between `directory` and the file that do not exist yet.
    missing: Vec<OsString>,
    name: OsString,
    existing: Option<PathHandle>,
}

impl Target {
    /// Finds the place; nothing is made yet, and nothing outside the scope is touched.
    pub fn find(scope: &Scope, asked: &RequestedPath) -> Result<Self, FileError> {
        let is_directory = || FileError::IsDirectory { path: asked.text().to_owned() };
        let reached = scope.reach(asked)?;
        let (path, below) = (reached.path(), reached.below());
        let Resolved { root, mut names, mut missing, handle, parent } = reached;
        if let Some(name) = missing.pop() {
            if asked.text().ends_with('/') {
                return Err(is_directory());
            }
            return Ok(Self { path, directory: handle, missing, name, existing: None });
        }
        let (Some(name), Some(directory)) = (names.pop(), parent) else { return Err(is_directory()) };
        let existing =
            PathHandle::new(handle, &root, &below).map_err(|error| FileError::os("look at", asked.text(), error))?;
        if existing.is_directory() {
            return Err(is_directory());
        }
        Ok(Self { path, directory, missing, name, existing: Some(existing) })
    }

    /// Where the file lies or will lie, links resolved.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn directory(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }

    pub fn name(&self) -> &OsStr {
        &self.name
    }

    pub fn existing(&self) -> Option<&PathHandle> {
        self.existing.as_ref()
    }

    /// Makes the missing directories, durably, and gives back the one that the file goes into.
    pub fn make_parents(&self) -> rustix::io::Result<OwnedFd> {
        let mut at = rustix::io::fcntl_dupfd_cloexec(&self.directory, 0)?;
        for name in &self.missing {
            match rustix::fs::mkdirat(&at, name, Mode::from_raw_mode(0o777)) {
                Ok(()) => sync_directory(at.as_fd())?,
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error),
            }
            let step = OFlags::PATH | OFlags::NOFOLLOW | OFlags::DIRECTORY | OFlags::CLOEXEC;
            at = rustix::fs::openat(&at, name, step, Mode::empty())?;
        }
        Ok(at)
    }
}

/// Names in a directory survive a crash only once the directory itself is on disk.
pub fn sync_directory(directory: BorrowedFd<'_>) -> rustix::io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match rustix::fs::openat(directory, ".", flags, Mode::empty()) {
        Ok(readable) => match rustix::fs::fsync(readable) {
            // Some file systems have nothing to sync for a directory.
            Err(Errno::INVAL | Errno::ROFS) => Ok(()),
            other => other,
        },
        // One may write into a directory without being allowed to list it.
        Err(Errno::ACCESS) => Ok(()),
        Err(error) => Err(error),
    }
}
