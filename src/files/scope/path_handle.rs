use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, Stat};

use super::DualPath;
use crate::files::FileError;

/// Something that exists in the scope, held by an `O_PATH` handle: nobody can put another file in its place, and nothing
/// has been read yet.
#[derive(Debug)]
pub struct PathHandle {
    handle: OwnedFd,
    names: DualPath,
    stat: Stat,
}

impl PathHandle {
    pub fn new(handle: OwnedFd, names: DualPath) -> std::io::Result<Self> {
        let stat = rustix::fs::fstat(&handle)?;
        Ok(Self { handle, names, stat })
    }

    /// Its path with links resolved, as agents know it.
    pub fn path(&self) -> &Path {
        &self.names.agent
    }

    /// Its path as the kernel knows it.
    pub fn real(&self) -> &Path {
        &self.names.real
    }

    pub fn names(&self) -> &DualPath {
        &self.names
    }

    pub fn stat(&self) -> &Stat {
        &self.stat
    }

    pub fn size(&self) -> u64 {
        u64::try_from(self.stat.st_size).unwrap_or(0)
    }

    pub fn is_directory(&self) -> bool {
        self.kind() == FileType::Directory
    }

    fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.stat.st_mode)
    }

    /// Opens a regular file for its content. Anything else is refused before it is opened: opening a FIFO or a device
    /// already has effects, and reading one may never end.
    pub fn open(&self, requested: &str, access: OFlags) -> Result<File, FileError> {
        if self.is_directory() {
            return Err(FileError::IsDirectory { path: requested.to_owned() });
        }
        if let Some(what) = self.other_kind() {
            return Err(FileError::NotAFile { path: requested.to_owned(), what });
        }
        // This reopens the handle, not the path: a second path resolution could be raced.
        let again = format!("/proc/self/fd/{}", self.handle.as_raw_fd());
        let flags = access | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        rustix::fs::openat(CWD, again, flags, Mode::empty())
            .map(File::from)
            .map_err(|error| FileError::os("open", requested, error))
    }

    /// What it is, where it is not a regular file on a disk.
    fn other_kind(&self) -> Option<&'static str> {
        match self.kind() {
            FileType::RegularFile => {
                let on_proc =
                    rustix::fs::fstatfs(&self.handle).is_ok_and(|fs| fs.f_type == rustix::fs::PROC_SUPER_MAGIC);
                on_proc.then_some("a file of /proc, which the kernel generates")
            }
            FileType::Fifo => Some("a FIFO"),
            FileType::Socket => Some("a socket"),
            FileType::CharacterDevice => Some("a character device"),
            FileType::BlockDevice => Some("a block device"),
            FileType::Symlink => Some("a symbolic link"),
            FileType::Directory | FileType::Unknown => Some("not a regular file"),
        }
    }
}

impl AsFd for PathHandle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}
