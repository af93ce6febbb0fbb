//! Puts new content in place: all of it or nothing, and durably.
//!
//! 1. The content goes into a file without a name in the same directory (O_TMPFILE). That file gets the owner, mode and
//!    attributes of the old one, and is synced. A server that is killed before this point leaves nothing behind.
//! 2. The file is linked to its name. If a file already has that name, the new file is linked to a temporary name first and
//!    renamed over the old one at once.
//! 3. The directory is synced. The content is in place by then, so no failure from here on says that it is not.
//!
//! Where a file without a name cannot be made or linked (FUSE and network file systems), the new file has a temporary name
//! from the start. Where such a file system cannot rename without replacing either, it is linked to its name; where it has no
//! hard links, the name is claimed by an empty file first. Whatever the way, a file that another program made is never lost.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;

use super::metadata;
use crate::files::scope::{open_to_sync, sync};

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
        stat: Stat,
        /// The metadata of the old file that could not be kept.
        lost: Vec<&'static str>,
        /// Why the directory could not be synced.
        unsynced: Option<Errno>,
    },
    /// Another writer was faster. Nothing was written.
    Overtaken,
}

/// Writes to `name` what `fill` puts into an empty file. At the last moment `unchanged` says whether the old file is still as
/// it was read.
pub fn write(
    directory: BorrowedFd<'_>,
    name: &OsStr,
    fill: impl Fn(&mut File) -> std::io::Result<()>,
    old: Option<&Replaced<'_>>,
    unchanged: impl Fn() -> bool,
) -> std::io::Result<Outcome> {
    let put = |draft| match put(draft, name, &fill, old, &unchanged) {
        Ok(outcome) => Ok(Some(outcome)),
        Err(NotPut::Overtaken) => Ok(Some(Outcome::Overtaken)),
        Err(NotPut::Nameless) => Ok(None),
        Err(NotPut::Failed(error)) => Err(error),
    };
    if let Some(draft) = Draft::nameless(directory)?
        && let Some(outcome) = put(draft)?
    {
        return Ok(outcome);
    }
    let outcome = put(Draft::named(directory)?)?;
    outcome.ok_or_else(|| Errno::OPNOTSUPP.into())
}

enum NotPut {
    /// Another program made or changed the file after we looked.
    Overtaken,
    /// This file system cannot give a name to a file that was made without one.
    Nameless,
    Failed(std::io::Error),
}

impl<E: Into<std::io::Error>> From<E> for NotPut {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

fn put(
    mut draft: Draft<'_>,
    name: &OsStr,
    fill: &impl Fn(&mut File) -> std::io::Result<()>,
    old: Option<&Replaced<'_>>,
    unchanged: &impl Fn() -> bool,
) -> Result<Outcome, NotPut> {
    fill(&mut draft.file)?;
    let lost = old.map(|old| metadata::copy(old.file, old.stat, &draft.file));
    if lost.is_none() {
        // Some file systems have no modes.
        let _ = rustix::fs::fchmod(&draft.file, NEW_MODE);
    }
    sync(&draft.file)?;
    // What the steps after the rename need is made ready before it, so that they do not fail for want of a descriptor.
    let before = rustix::fs::fstat(&draft.file)?;
    let to_sync = open_to_sync(draft.directory)?;
    if !unchanged() {
        return Err(NotPut::Overtaken);
    }
    if old.is_some() { draft.replace(name) } else { draft.place(name) }?;
    let unsynced = to_sync.and_then(|directory| sync(&directory).err());
    let stat = rustix::fs::fstat(&draft.file).unwrap_or(before);
    Ok(Outcome::Written { stat, lost: lost.unwrap_or_default(), unsynced })
}

/// The new file until it has its name.
struct Draft<'a> {
    directory: BorrowedFd<'a>,
    file: File,
    /// The temporary name, while it has one. Dropping the draft removes it.
    name: Option<OsString>,
}

const PRIVATE: Mode = Mode::from_raw_mode(0o600);
const NEW: OFlags = OFlags::CREATE.union(OFlags::EXCL).union(OFlags::NOFOLLOW);

impl<'a> Draft<'a> {
    /// `None` if the file system has no files without a name.
    fn nameless(directory: BorrowedFd<'a>) -> std::io::Result<Option<Self>> {
        let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::TMPFILE;
        match rustix::fs::openat(directory, ".", flags, PRIVATE) {
            Ok(file) => Ok(Some(Self { directory, file: file.into(), name: None })),
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::INVAL | Errno::NOSYS) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn named(directory: BorrowedFd<'a>) -> std::io::Result<Self> {
        let name = temporary_name();
        let file = rustix::fs::openat(directory, &name, OFlags::RDWR | OFlags::CLOEXEC | NEW, PRIVATE)?;
        Ok(Self { directory, file: file.into(), name: Some(name) })
    }

    /// Gives the file a name that no file has yet.
    fn place(&mut self, name: &OsStr) -> Result<(), NotPut> {
        let Some(temporary) = &self.name else { return self.link(name) };
        let directory = self.directory;
        let mut placed = rustix::fs::renameat_with(directory, temporary, directory, name, RenameFlags::NOREPLACE);
        if let Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) = placed {
            placed = rustix::fs::linkat(directory, temporary, directory, name, AtFlags::empty());
            match placed {
                // The temporary name goes with the draft.
                Ok(()) | Err(Errno::EXIST) => return placed.map_err(not_placed),
                Err(_) => placed = self.claim(temporary, name),
            }
        }
        placed.map_err(not_placed)?;
        self.name = None;
        Ok(())
    }

    /// Makes an empty file of that name, which only one program can do, and renames the new file over it.
    fn claim(&self, temporary: &OsStr, name: &OsStr) -> rustix::io::Result<()> {
        rustix::fs::openat(self.directory, name, OFlags::WRONLY | OFlags::CLOEXEC | NEW, PRIVATE)?;
        let renamed = rustix::fs::renameat(self.directory, temporary, self.directory, name);
        if renamed.is_err() {
            let _ = rustix::fs::unlinkat(self.directory, name, AtFlags::empty());
        }
        renamed
    }

    /// Gives the file the name of an existing file, in one step.
    fn replace(&mut self, name: &OsStr) -> Result<(), NotPut> {
        if self.name.is_none() {
            let temporary = temporary_name();
            self.link(&temporary)?;
            self.name = Some(temporary);
        }
        let temporary = self.name.take().unwrap_or_default();
        let renamed = rustix::fs::renameat(self.directory, &temporary, self.directory, name);
        if renamed.is_err() {
            self.name = Some(temporary);
        }
        Ok(renamed?)
    }

    /// Gives the file its first name. Some network file systems make files without a name but cannot link them.
    fn link(&self, name: &OsStr) -> Result<(), NotPut> {
        let nameless = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        let linked = rustix::fs::linkat(CWD, nameless, self.directory, name, AtFlags::SYMLINK_FOLLOW);
        linked.map_err(|error| if error == Errno::EXIST { NotPut::Overtaken } else { NotPut::Nameless })
    }
}

fn not_placed(error: Errno) -> NotPut {
    if error == Errno::EXIST { NotPut::Overtaken } else { error.into() }
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
