use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, CWD, StatxFlags, statx};

/// Tells one state of a file from another, without reading it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct FileStamp {
    device: (u32, u32),
    inode: u64,
    size: u64,
    /// Set by the kernel at every change and every rename. No program can set it back.
    changed: (i64, u32),
}

impl FileStamp {
    /// Of what is at a path, links followed. `None` if there is nothing.
    pub fn of(path: &Path) -> Option<Self> {
        let wanted = StatxFlags::INO | StatxFlags::SIZE | StatxFlags::CTIME;
        let found = statx(CWD, path, AtFlags::NO_AUTOMOUNT, wanted).ok()?;
        Some(Self {
            device: (found.stx_dev_major, found.stx_dev_minor),
            inode: found.stx_ino,
            size: found.stx_size,
            changed: (found.stx_ctime.tv_sec, found.stx_ctime.tv_nsec),
        })
    }

    /// How long ago the file was changed. Zero if another machine's clock says that it is yet to happen.
    pub fn age(&self) -> Duration {
        let changed = Duration::new(u64::try_from(self.changed.0).unwrap_or_default(), self.changed.1);
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH + changed).unwrap_or_default()
    }
}
