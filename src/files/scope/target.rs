use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::resolve::Resolved;
use super::{PathHandle, RequestedPath, Scope};
use crate::files::FileError;

/// A place to write to: a directory handle, a name in that directory, and the file that has this name now. Links have been
/// resolved, so a write never replaces a link.
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
    /// Finds the place. This creates nothing and touches nothing outside the scope.
    pub fn find(scope: &Scope, requested: &RequestedPath) -> Result<Self, FileError> {
        let is_directory = || FileError::IsDirectory { path: requested.text().to_owned() };
        let resolved = scope.resolve(requested)?;
        let dual_path = resolved.names();
        let path = dual_path.agent.clone();
        let Resolved { mut existing, mut missing, handle, parent, .. } = resolved;
        if let Some(name) = missing.pop() {
            if requested.text().ends_with('/') {
                return Err(is_directory());
            }
            return Ok(Self { path, directory: handle, missing, name, existing: None });
        }
        let (Some(name), Some(directory)) = (existing.pop(), parent) else { return Err(is_directory()) };
        let existing =
            PathHandle::new(handle, dual_path).map_err(|error| FileError::os("look at", requested.text(), error))?;
        if existing.is_directory() {
            return Err(is_directory());
        }
        Ok(Self { path, directory, missing, name, existing: Some(existing) })
    }

    /// Where the file is or will be, with links resolved, as agents know it.
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

    /// Whether the name still belongs to the file with this device and inode number.
    pub fn still_names(&self, stat: &Stat) -> bool {
        rustix::fs::statat(&self.directory, &self.name, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|now| now.st_ino == stat.st_ino && now.st_dev == stat.st_dev)
    }

    /// Makes the missing directories durably and returns the directory that the file goes into.
    pub fn make_parents(&self) -> rustix::io::Result<OwnedFd> {
        let mut at = rustix::io::fcntl_dupfd_cloexec(&self.directory, 0)?;
        for name in &self.missing {
            match rustix::fs::mkdirat(&at, name, Mode::from_raw_mode(0o777)) {
                Ok(()) => open_to_sync(at.as_fd())?.map_or(Ok(()), sync)?,
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error),
            }
            let step = OFlags::PATH | OFlags::NOFOLLOW | OFlags::DIRECTORY | OFlags::CLOEXEC;
            at = rustix::fs::openat(&at, name, step, Mode::empty())?;
        }
        Ok(at)
    }
}

/// Opens a directory for [`sync`]: a new name in it survives a crash only after that. `None` if the user may write into the
/// directory but not list it.
pub fn open_to_sync(directory: BorrowedFd<'_>) -> rustix::io::Result<Option<OwnedFd>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match rustix::fs::openat(directory, ".", flags, Mode::empty()) {
        Ok(readable) => Ok(Some(readable)),
        Err(Errno::ACCESS) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes a file or directory through to the disk.
pub fn sync(file: impl AsFd) -> rustix::io::Result<()> {
    match rustix::fs::fsync(file) {
        // Some file systems have nothing to sync.
        Err(Errno::INVAL | Errno::ROFS | Errno::NOSYS | Errno::OPNOTSUPP) => Ok(()),
        other => other,
    }
}
