use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rustix::fs::Stat;

/// One file, link or directory of the inventory: which one it is, and what it holds.
#[derive(Clone, Debug)]
pub struct Entry {
    pub stamp: Stamp,
    /// Whether a later change is sure to change the stamp. If not, the content has to be compared.
    pub settled: bool,
    pub mode: u32,
    pub content: Content,
    /// The person's own, rather than what a command made of the repository's commits. What is the person's own is put back
    /// when a command removes it.
    pub own: bool,
}

#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Content {
    Directory,
    File {
        bytes: Arc<[u8]>,
        executable: bool,
    },
    Link(PathBuf),
    /// Something that cannot be compared, and why.
    Unknown(&'static str),
}

/// Larger files are not remembered. Configuration is smaller.
pub const LARGEST: u64 = 1 << 20;

/// Tells whether a file was changed. A program can set the modification time of a file, but not the time of its last
/// change.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Stamp {
    device: u64,
    inode: u64,
    changed: (i64, u32),
    size: i64,
    mode: u32,
}

/// The kernel stamps files with a clock that lags by up to one tick.
pub const TICK: Duration = Duration::from_millis(20);

impl Stamp {
    pub fn of(stat: &Stat) -> Self {
        Self {
            device: stat.st_dev,
            inode: stat.st_ino,
            changed: (stat.st_ctime, stat.st_ctime_nsec.try_into().unwrap_or(0)),
            size: stat.st_size,
            mode: stat.st_mode,
        }
    }

    /// When it was last changed or renamed, as late as that may have been.
    pub fn changed(&self) -> SystemTime {
        self.changed_after() + TICK
    }

    /// The same, as early as that may have been.
    pub fn changed_after(&self) -> SystemTime {
        let (seconds, nanoseconds) = self.changed;
        SystemTime::UNIX_EPOCH + Duration::new(seconds.try_into().unwrap_or(0), nanoseconds)
    }

    pub fn is_same_file(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }

    /// Whether a change right after this moment would have another stamp.
    pub fn is_settled(&self, looked: SystemTime) -> bool {
        self.changed() < looked
    }
}

impl Entry {
    /// A file with this content that does not exist yet.
    pub fn file(bytes: &[u8], mode: u32) -> Self {
        let stamp = Stamp { device: 0, inode: 0, changed: (0, 0), size: 0, mode };
        let content = Content::File { bytes: bytes.into(), executable: mode & 0o111 != 0 };
        Self { stamp, settled: false, mode, content, own: true }
    }

    pub fn bytes(&self) -> Option<&[u8]> {
        match &self.content {
            Content::File { bytes, .. } => Some(bytes),
            _ => None,
        }
    }

    pub fn is_directory(&self) -> bool {
        self.content == Content::Directory
    }

    /// The content for a person who is asked about it.
    pub fn shown(&self) -> String {
        match &self.content {
            Content::File { bytes, .. } => String::from_utf8_lossy(bytes).into_owned(),
            Content::Link(target) => format!("a link to {}", target.display()),
            Content::Directory => "a directory".to_owned(),
            Content::Unknown(why) => format!("it {why}"),
        }
    }
}
