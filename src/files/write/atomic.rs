//! Putting new content in a place, all of it or nothing, and still there after a power cut.
//!
//! The content goes into a file without a name in the same directory (O_TMPFILE), gets owner, mode and attributes, and is
//! synced. Then it is linked to its name; where a file already stands, to a passing name that is renamed over it at
//! once. A server killed before that leaves nothing behind. File systems without nameless files get a named one.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::metadata;
use crate::files::scope::sync_directory;

/// A new file has this mode, whatever the umask.
const NEW_MODE: Mode = Mode::from_raw_mode(0o644);

/// What stands in the place now, if anything does.
pub struct Old<'a> {
    pub file: &'a File,
    pub stat: &'a Stat,
}

/// What came of it.
#[derive(Debug)]
pub enum Outcome {
    Written {
        file: File,
        /// What of the old file's metadata could not be kept.
        lost: Vec<&'static str>,
    },
    /// The place changed meanwhile; nothing was done.
    Overtaken,
}

/// Writes `content` to `name`. `unchanged` is asked at the last moment whether the place is still as it was found.
pub fn write(
    directory: BorrowedFd<'_>,
    name: &OsStr,
    content: &[u8],
    old: Option<&Old<'_>>,
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
        // Somebody made the file after we looked.
        Err(Errno::EXIST) => return Ok(Outcome::Overtaken),
        Err(error) => return Err(error.into()),
    }
    sync_directory(directory)?;
    Ok(Outcome::Written { file: draft.file.try_clone()?, lost: lost.unwrap_or_default() })
}

/// A file that is not in its place yet.
struct Draft<'a> {
    directory: BorrowedFd<'a>,
    file: File,
    /// The passing name, while it has one; removed on drop.
    name: Option<OsString>,
}

impl<'a> Draft<'a> {
    fn open(directory: BorrowedFd<'a>) -> std::io::Result<Self> {
        let private = Mode::RUSR | Mode::WUSR;
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        match rustix::fs::openat(directory, ".", flags | OFlags::TMPFILE, private) {
            Ok(file) => Ok(Self { directory, file: file.into(), name: None }),
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::INVAL) => {
                let name = passing_name();
                let flags = flags | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
                let file = rustix::fs::openat(directory, &name, flags, private)?;
                Ok(Self { directory, file: file.into(), name: Some(name) })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Gives the file a name that nothing has yet.
    fn place(&mut self, name: &OsStr) -> rustix::io::Result<()> {
        match self.name.take() {
            None => self.link(name),
            Some(passing) => {
                let flags = rustix::fs::RenameFlags::NOREPLACE;
                let placed = rustix::fs::renameat_with(self.directory, &passing, self.directory, name, flags);
                if placed.is_err() {
                    self.name = Some(passing);
                }
                placed
            }
        }
    }

    /// Puts the file where another one stands, in one step.
    fn replace(&mut self, name: &OsStr) -> rustix::io::Result<()> {
        if self.name.is_none() {
            let passing = passing_name();
            self.link(&passing)?;
            self.name = Some(passing);
        }
        if let Some(passing) = &self.name {
            rustix::fs::renameat(self.directory, passing, self.directory, name)?;
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

fn passing_name() -> OsString {
    format!(".testudo-{}.tmp", crate::base::random::hex::<16>()).into()
}
