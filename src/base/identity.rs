use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Statx, StatxFlags, statx};

/// Which file or directory it is, whatever its name. The time of its creation tells a new file from a removed one whose
/// inode number it got.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Identity {
    device: (u32, u32),
    inode: u64,
    created: (i64, u32),
}

impl Identity {
    /// Of what is at a path. A symbolic link at its end is followed.
    pub fn of(path: &Path) -> Option<Self> {
        Self::with(CWD, path, AtFlags::empty())
    }

    /// Of what is at a path below a directory. No symbolic link at its end is followed.
    pub fn beneath(directory: impl AsFd, path: &Path) -> Option<Self> {
        Self::with(directory, path, AtFlags::SYMLINK_NOFOLLOW)
    }

    fn with(directory: impl AsFd, path: &Path, flags: AtFlags) -> Option<Self> {
        let wanted = StatxFlags::INO | StatxFlags::BTIME;
        statx(directory, path, flags | AtFlags::NO_AUTOMOUNT, wanted).ok().map(|found| Self::from(&found))
    }

    pub fn inode(self) -> u64 {
        self.inode
    }
}

impl From<&Statx> for Identity {
    fn from(found: &Statx) -> Self {
        let created = if found.stx_mask & StatxFlags::BTIME.bits() == 0 {
            (0, 0)
        } else {
            (found.stx_btime.tv_sec, found.stx_btime.tv_nsec)
        };
        Self { device: (found.stx_dev_major, found.stx_dev_minor), inode: found.stx_ino, created }
    }
}
