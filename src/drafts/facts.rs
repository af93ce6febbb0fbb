use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{
    Access, AtFlags, FileType, Mode, OFlags, Statx, StatxFlags, Timespec, fgetxattr, flistxattr, openat, statx,
};
use rustix::io::Errno;

use crate::sandbox::draft::{OPAQUE, OWN_ATTRIBUTES};

/// What the kernel knows of a file, without its content.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    pub kind: FileType,
    pub mode: u32,
    pub owner: (u32, u32),
    pub size: u64,
    /// How much of it is on disk. Less than its size means holes.
    pub stored: u64,
    pub modified: Time,
    /// When its content or its attributes were last changed. No program can set it.
    pub changed: Time,
    /// When it was made, as far as the file system knows.
    pub born: Option<Time>,
    pub inode: u64,
    pub names: u32,
    is_whiteout: bool,
}

/// Seconds and nanoseconds.
pub type Time = (i64, u32);

impl Facts {
    /// Of a name in a directory. `None` if there is nothing. A symbolic link is not followed.
    pub fn of(directory: impl AsFd, name: &OsStr) -> io::Result<Option<Self>> {
        match Self::read(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            found => Ok(Some(found?)),
        }
    }

    pub fn of_descriptor(descriptor: impl AsFd) -> io::Result<Self> {
        Ok(Self::read(descriptor, OsStr::new(""), AtFlags::EMPTY_PATH)?)
    }

    fn read(directory: impl AsFd, name: &OsStr, flags: AtFlags) -> Result<Self, Errno> {
        let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
        statx(directory, name, flags | AtFlags::NO_AUTOMOUNT, wanted).map(|found| Self::from(&found))
    }

    pub fn is_directory(&self) -> bool {
        self.kind == FileType::Directory
    }

    pub fn is_file(&self) -> bool {
        self.kind == FileType::RegularFile
    }

    pub fn is_link(&self) -> bool {
        self.kind == FileType::Symlink
    }

    /// In an upper layer: the name does not exist, whatever is underneath.
    pub fn is_whiteout(&self) -> bool {
        self.is_whiteout
    }

    /// Whether it is the same file, and nobody has changed it. If it has lost or gained a name, the time of its last change
    /// says nothing: replacing one of two names changes the file behind the other.
    pub fn is_untouched(&self, before: &Self) -> bool {
        let known = |facts: &Self| (facts.inode, facts.size, facts.modified, facts.mode);
        known(self) == known(before) && (self.changed == before.changed || self.names != before.names)
    }

    /// Whether two files could be one, as far as it shows without reading them.
    pub fn is_like(&self, other: &Self) -> bool {
        let known = |facts: &Self| (facts.kind, facts.size, facts.modified, facts.mode, facts.owner);
        known(self) == known(other)
    }

    pub fn times(&self) -> rustix::fs::Timestamps {
        let time = Timespec { tv_sec: self.modified.0, tv_nsec: self.modified.1.into() };
        let unchanged = Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_OMIT };
        rustix::fs::Timestamps { last_access: unchanged, last_modification: time }
    }
}

impl From<&Statx> for Facts {
    fn from(found: &Statx) -> Self {
        const BLOCK: u64 = 512;
        let kind = FileType::from_raw_mode(found.stx_mode.into());
        let born = (found.stx_mask & StatxFlags::BTIME.bits() != 0)
            .then_some((found.stx_btime.tv_sec, found.stx_btime.tv_nsec));
        Self {
            kind,
            mode: u32::from(found.stx_mode) & 0o7777,
            owner: (found.stx_uid, found.stx_gid),
            size: found.stx_size,
            stored: found.stx_blocks * BLOCK,
            modified: (found.stx_mtime.tv_sec, found.stx_mtime.tv_nsec),
            changed: (found.stx_ctime.tv_sec, found.stx_ctime.tv_nsec),
            born,
            inode: found.stx_ino,
            names: found.stx_nlink,
            is_whiteout: kind == FileType::CharacterDevice && (found.stx_rdev_major, found.stx_rdev_minor) == (0, 0),
        }
    }
}

/// An open directory. If it had to be opened up to be listed, it gets its mode back with the end of this value.
#[derive(Debug)]
pub struct Directory {
    descriptor: OwnedFd,
    before: Option<Mode>,
}

impl Directory {
    /// Opens a directory in a directory, to list it. Commands leave directories that even their owner may not list; these
    /// are opened up for a while.
    pub fn open(parent: impl AsFd, name: &OsStr) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let (descriptor, before) = open_all_the_same(parent, name, flags, Mode::RUSR | Mode::XUSR)?;
        Ok(Self { descriptor, before })
    }

    /// For a directory that gets another mode now.
    pub fn stay_open(mut self) -> io::Result<OwnedFd> {
        self.before = None;
        self.descriptor.try_clone()
    }
}

impl AsFd for Directory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            let _ = rustix::fs::fchmod(&self.descriptor, before);
        }
    }
}

/// Opens a file for its content, also one that its owner may not read.
pub fn open_file(parent: impl AsFd, name: &OsStr) -> io::Result<OwnedFd> {
    let (file, before) = open_all_the_same(parent, name, OFlags::RDONLY | OFlags::NONBLOCK, Mode::RUSR)?;
    if let Some(before) = before {
        rustix::fs::fchmod(&file, before)?;
    }
    Ok(file)
}

/// Returns the mode too, if it had to be changed.
fn open_all_the_same(
    parent: impl AsFd,
    name: &OsStr,
    flags: OFlags,
    needed: Mode,
) -> io::Result<(OwnedFd, Option<Mode>)> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY;
    // A directory without the right to enter it can be listed, but what is in it cannot be looked at.
    let may_enter = |opened: &OwnedFd| {
        !needed.contains(Mode::XUSR) || rustix::fs::accessat(opened, ".", Access::EXEC_OK, AtFlags::EACCESS).is_ok()
    };
    match openat(&parent, name, flags, Mode::empty()) {
        Ok(opened) if may_enter(&opened) => return Ok((opened, None)),
        Ok(_) | Err(Errno::ACCESS) => {}
        Err(error) => return Err(error.into()),
    }
    // Through a handle, so that no link can take the place of the name meanwhile.
    let handle = openat(&parent, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    let facts = Facts::of_descriptor(&handle)?;
    if facts.is_link() {
        return Err(Errno::LOOP.into());
    }
    let again = format!("/proc/self/fd/{}", handle.as_raw_fd());
    let before = Mode::from_raw_mode(facts.mode);
    rustix::fs::chmod(&*again, before | needed)?;
    match rustix::fs::open(&*again, flags.difference(OFlags::NOFOLLOW), Mode::empty()) {
        Ok(opened) => Ok((opened, Some(before))),
        Err(error) => {
            rustix::fs::chmod(&*again, before)?;
            Err(error.into())
        }
    }
}

/// Whether a directory of an upper layer hides the one underneath.
pub fn is_opaque(directory: impl AsFd) -> bool {
    let mut value = [0_u8; 1];
    // Newer kernels have other values, with other meanings.
    fgetxattr(directory, OPAQUE, &mut value[..]).is_ok() && value == *b"y"
}

/// The extended attributes of a file, sorted, without those that belong to the overlay itself.
pub fn attributes(file: impl AsFd) -> Vec<(Vec<u8>, Vec<u8>)> {
    let Ok(length @ 1..) = rustix::fs::flistxattr_query(&file) else { return Vec::new() };
    let mut names = vec![0_u8; length];
    let Ok(length) = flistxattr(&file, &mut names[..]) else { return Vec::new() };
    let names = names[..length].split(|byte| *byte == 0);
    let wanted = names.filter(|name| !name.is_empty() && !name.starts_with(OWN_ATTRIBUTES.as_bytes()));
    let valued = wanted.filter_map(|name| {
        let mut value = vec![0_u8; rustix::fs::fgetxattr_query(&file, name).ok()?];
        let length = fgetxattr(&file, name, &mut value[..]).ok()?;
        value.truncate(length);
        Some((name.to_vec(), value))
    });
    let mut all: Vec<_> = valued.collect();
    all.sort();
    all
}
