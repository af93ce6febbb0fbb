use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, Stat};

use super::{DenyGlobs, Root};
use crate::files::FileError;

/// Something that exists in the scope, held by a handle that cannot be exchanged under us. Nothing has been read yet.
#[derive(Debug)]
pub struct PathHandle {
    handle: OwnedFd,
    path: PathBuf,
    /// Where it lies for the kernel, which may be another name than agents have for it.
    real: PathBuf,
    stat: Stat,
}

impl PathHandle {
    pub fn new(handle: OwnedFd, root: &Root, below: &Path) -> std::io::Result<Self> {
        let stat = rustix::fs::fstat(&handle)?;
        Ok(Self { handle, path: root.shown(below), real: root.kept(below), stat })
    }

    /// Where it lies, links resolved.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the kernel finds it.
    pub fn real(&self) -> &Path {
        &self.real
    }

    /// Whether something below this directory is out of bounds, by either name.
    pub fn hides(&self, deny: &DenyGlobs, below: &Path) -> bool {
        !deny.is_empty()
            && (deny.hides(&self.path.join(below)) || self.real != self.path && deny.hides(&self.real.join(below)))
    }

    pub fn handle(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
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

    pub fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.stat.st_mode)
    }

    /// Opens a regular file for its content. Anything else is refused before it is opened, because opening a FIFO or a
    /// device already has effects, and reading one may never end.
    pub fn open(&self, asked: &str, access: OFlags) -> Result<File, FileError> {
        if self.is_directory() {
            return Err(FileError::IsDirectory { path: asked.to_owned() });
        }
        if let Some(what) = self.oddity() {
            return Err(FileError::NotAFile { path: asked.to_owned(), what });
        }
        // The handle itself is opened again, not its path: there is no second resolution to race with.
        let again = format!("/proc/self/fd/{}", self.handle.as_raw_fd());
        let flags = access | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        rustix::fs::openat(CWD, again, flags, Mode::empty())
            .map(File::from)
            .map_err(|error| FileError::os("open", asked, error))
    }

    /// What makes it unreadable as a file, if anything does.
    fn oddity(&self) -> Option<&'static str> {
        match self.kind() {
            FileType::RegularFile => {
                let on_proc =
                    rustix::fs::fstatfs(&self.handle).is_ok_and(|fs| fs.f_type == rustix::fs::PROC_SUPER_MAGIC);
                on_proc.then_some("a file of /proc, made up by the kernel")
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
