use rustix::fs::Stat;

/// Identifies one version of a file without its content. It changes with every write, as far as the timestamps of the file
/// system are fine enough.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Signature {
    device: u64,
    inode: u64,
    size: i64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Signature {
    #[expect(clippy::cast_possible_wrap, reason = "nanoseconds are fewer than a billion")]
    pub fn of(stat: &Stat) -> Self {
        Self {
            device: stat.st_dev,
            inode: stat.st_ino,
            size: stat.st_size,
            modified: (stat.st_mtime, stat.st_mtime_nsec as i64),
            changed: (stat.st_ctime, stat.st_ctime_nsec as i64),
        }
    }
}
