use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};

use super::DualPath;

/// One allowed directory, held open. The handle stays on the same directory whatever is renamed or linked around it.
#[derive(Debug)]
pub struct Root {
    names: DualPath,
    directory: OwnedFd,
}

impl Root {
    /// A directory under the path that was configured for it, which may lead over links.
    pub fn as_written(path: &Path) -> std::io::Result<Self> {
        Self::named(path.to_owned(), &path.canonicalize()?)
    }

    /// A directory that agents know by another path, as a session's temporary directory is `/tmp` to them.
    pub fn named(path: PathBuf, real: &Path) -> std::io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::openat(CWD, real, flags, Mode::empty())?;
        Ok(Self { names: DualPath { agent: path, real: real.to_owned() }, directory })
    }

    /// Its path, as agents know it.
    pub fn path(&self) -> &Path {
        &self.names.agent
    }

    /// Its path, as the kernel knows it.
    pub fn real(&self) -> &Path {
        &self.names.real
    }

    pub fn names(&self) -> &DualPath {
        &self.names
    }

    pub fn directory(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }
}
