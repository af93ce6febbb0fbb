use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};

/// One directory of the scope, held open: whatever is renamed or linked around it, this handle stays what it was.
#[derive(Debug)]
pub struct Root {
    path: PathBuf,
    real: PathBuf,
    directory: OwnedFd,
}

impl Root {
    /// A directory under its own name.
    pub fn open(path: &Path) -> std::io::Result<Self> {
        let real = path.canonicalize()?;
        Self::named(real.clone(), &real)
    }

    /// A directory under the name that was written for it, which may lead through links.
    pub fn as_written(path: &Path) -> std::io::Result<Self> {
        Self::named(path.to_owned(), &path.canonicalize()?)
    }

    /// A directory that agents know by another name, as a session's temporary directory is `/tmp` to them.
    pub fn named(path: PathBuf, real: &Path) -> std::io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::openat(CWD, real, flags, Mode::empty())?;
        Ok(Self { path, real: real.to_owned(), directory })
    }

    /// The name agents use.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where it lies for the kernel.
    pub fn real(&self) -> &Path {
        &self.real
    }

    /// What lies below it, by the name agents use.
    pub fn shown(&self, below: &Path) -> PathBuf {
        if below.as_os_str().is_empty() { self.path.clone() } else { self.path.join(below) }
    }

    /// What lies below it, as the kernel knows it.
    pub fn kept(&self, below: &Path) -> PathBuf {
        if below.as_os_str().is_empty() { self.real.clone() } else { self.real.join(below) }
    }

    pub fn directory(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }
}
