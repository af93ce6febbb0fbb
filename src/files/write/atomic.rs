//! Puts new content in place: all of it or nothing, and durably.
//!
//! 1. The content goes into a file without a name in the same directory (O_TMPFILE). That file gets the owner, mode and
//!    attributes of the old one, and is synced. A server that is killed before this point leaves nothing behind.
//! 2. The file is linked to its name. If a file already has that name, the new file is linked to a temporary name first and
//!    renamed over the old one at once.
//! 3. The directory is synced.
//!
//! On a file system without O_TMPFILE, the new file has a temporary name from the start.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::metadata;
use crate::files::scope::sync_directory;

/// The mode of a new file, regardless of the umask.
const NEW_MODE: Mode = Mode::from_raw_mode(0o644);

/// The existing file that is replaced.
pub struct Replaced<'a> {
    pub file: &'a File,
    pub stat: &'a Stat,
}

#[derive(Debug)]
pub enum Outcome {
    Written {
        file: File,
        /// The metadata of the old file that could not be kept.
        lost: Vec<&'static str>,
    },
    /// Another writer was faster. Nothing was written.
    Overtaken,
}

/// Writes `content` to `name`. At the last moment `unchanged` says whether the old file is still as it was read.
pub fn write(
    directory: BorrowedFd<'_>,
    name: &OsStr,
    content: &[u8],
    old: Option<&Replaced<'_>>,
    unchanged: impl FnOnce() -> bool,
) -> std::io::Result<Outcome> {
    let mut draft = Draft::open(directory)?;
    draft.file.write_all(content)?;
    let lost = old.map(|old| metadata::copy(old.file, old.stat, &draft.file));
    if lost.is_none() {
        rustix::fs::fchmod(&draft.file, NEW_MODE)?;
    }
    rustix::fs::fsync(&draft.file)?;
    if !unchanged() {
        return Ok(Outcome::Overtaken);
    }
    let placed = if old.is_some() { draft.replace(name) } else { draft.place(name) };
    match placed {
        Ok(()) => {}
        // Another program created the file after we looked.
        Err(Errno::EXIST) => return Ok(Outcome::Overtaken),
        Err(error) => return Err(error.into()),
    }
    sync_directory(directory)?;
    Ok(Outcome::Written { file: draft.file.try_clone()?, lost: lost.unwrap_or_default() })
}

/// The new file until it has its name.
struct Draft<'a> {
    directory: BorrowedFd<'a>,
    file: File,
    /// The temporary name, while it has one. Dropping the draft removes it.
    name: Option<OsString>,
}

impl<'a> Draft<'a> {
    fn open(directory: BorrowedFd<'a>) -> std::io::Result<Self> {
        let private = Mode::RUSR | Mode::WUSR;
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        match rustix::fs::openat(directory, ".", flags | OFlags::TMPFILE, private) {
            Ok(file) => Ok(Self { directory, file: file.into(), name: None }),
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::INVAL) => {
                let name = temporary_name();
                let flags = flags | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
                let file = rustix::fs::openat(directory, &name, flags, private)?;
                Ok(Self { directory, file: file.into(), name: Some(name) })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Gives the file a name that no file has yet.
    fn place(&mut self, name: &OsStr) -> rustix::io::Result<()> {
        match self.name.take() {
            None => self.link(name),
            Some(temporary) => {
                let flags = rustix::fs::RenameFlags::NOREPLACE;
                let placed = rustix::fs::renameat_with(self.directory, &temporary, self.directory, name, flags);
                if placed.is_err() {
                    self.name = Some(temporary);
                }
                placed
            }
        }
    }

    /// Gives the file the name of an existing file, in one step.
    fn replace(&mut self, name: &OsStr) -> rustix::io::Result<()> {
        if self.name.is_none() {
            let temporary = temporary_name();
            self.link(&temporary)?;
            self.name = Some(temporary);
        }
        if let Some(temporary) = &self.name {
            rustix::fs::renameat(self.directory, temporary, self.directory, name)?;
        }
        self.name = None;
        Ok(())
    }

    fn link(&self, name: &OsStr) -> rustix::io::Result<()> {
        let nameless = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        rustix::fs::linkat(CWD, nameless, self.directory, name, AtFlags::SYMLINK_FOLLOW)
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = rustix::fs::unlinkat(self.directory, name, AtFlags::empty());
        }
    }
}

fn temporary_name() -> OsString {
    format!(".testudo-{}.tmp", crate::base::random::hex::<16>()).into()
}
