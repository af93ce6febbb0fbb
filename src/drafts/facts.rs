use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Statx, StatxFlags, Timespec, fgetxattr, flistxattr, openat, statx};
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

    /// Whether it is the same file, and nobody has changed it.
    pub fn is_untouched(&self, before: &Self) -> bool {
        (self.inode, self.changed, self.size) == (before.inode, before.changed, before.size)
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

/// Opens a directory in a directory, to list it. Commands leave directories that even their owner may not list; these are
/// opened up for a moment.
pub fn open_directory(parent: impl AsFd, name: &OsStr) -> io::Result<OwnedFd> {
    open_all_the_same(parent, name, OFlags::RDONLY | OFlags::DIRECTORY)
}

pub fn open_file(parent: impl AsFd, name: &OsStr) -> io::Result<OwnedFd> {
    open_all_the_same(parent, name, OFlags::RDONLY | OFlags::NONBLOCK)
}

fn open_all_the_same(parent: impl AsFd, name: &OsStr, flags: OFlags) -> io::Result<OwnedFd> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY;
    match openat(&parent, name, flags, Mode::empty()) {
        Err(Errno::ACCESS) => {}
        opened => return Ok(opened?),
    }
    // Through a handle, so that no link can take the place of the name meanwhile.
    let handle = openat(&parent, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    let facts = Facts::of_descriptor(&handle)?;
    if facts.is_link() {
        return Err(Errno::LOOP.into());
    }
    let again = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&handle));
    let mode = Mode::from_raw_mode(facts.mode);
    rustix::fs::chmod(&*again, mode | Mode::RUSR | if facts.is_directory() { Mode::XUSR } else { Mode::empty() })?;
    let opened = rustix::fs::open(&*again, flags.difference(OFlags::NOFOLLOW), Mode::empty());
    // A directory must stay open to us while its entries are looked at by their names.
    if !facts.is_directory() {
        rustix::fs::chmod(&*again, mode)?;
    }
    Ok(opened?)
}

/// Whether a directory of an upper layer hides the one underneath.
pub fn is_opaque(directory: impl AsFd) -> bool {
    fgetxattr(directory, OPAQUE, &mut [0_u8; 1][..]).is_ok()
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
