//! Whether the file system behind a directory still answers.
//!
//! When the server of a network file system is gone, or the process behind a FUSE mount hangs, every system call that touches
//! the mount waits for ever. So we ask first: a thread touches the mount point, and we wait for it for a second. The kernel's
//! list of mounts tells us without touching them where such mounts are. On most machines there is none, and asking costs
//! nothing.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, LazyLock, Mutex};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{AtFlags, CWD, StatxFlags, statx};

use super::locks::LockExt;

/// File systems that ask no other machine and no other process. An unknown one is asked before it is touched, which costs
/// a little time and is always right.
const LOCAL: &str = "autofs bcachefs binfmt_misc bpf btrfs cgroup cgroup2 configfs debugfs devpts devtmpfs efivarfs erofs \
                     exfat ext2 ext3 ext4 f2fs fusectl hugetlbfs iso9660 mqueue nsfs overlay proc pstore ramfs securityfs \
                     squashfs sysfs tmpfs tracefs vfat xfs";

/// How long a file system may take to answer.
const PATIENCE: Duration = Duration::from_secs(1);
/// An answer is good for this long.
const FRESH: Duration = Duration::from_millis(5);
/// The list of mounts is good for this long.
const FRESH_LIST: Duration = Duration::from_millis(1);

/// Whether the directory lies on a file system that may stop answering. Does not touch it.
pub fn may_hang(directory: &Path) -> bool {
    TABLE.mount_of(directory).is_some()
}

/// Whether there is any file system that may stop answering.
pub fn any_may_hang() -> bool {
    TABLE.any()
}

/// Whether a file system that may stop answering is mounted at the directory or below it.
pub fn may_hang_below(directory: &Path) -> bool {
    points().iter().any(|point| point.starts_with(directory))
}

/// Whether the file system of the directory answers. Waits a second at most, and not at all where nothing can hang. The path
/// must be free of symbolic links.
pub fn answers(directory: &Path) -> bool {
    TABLE.mount_of(directory).is_none_or(|mount| mount.answers())
}

/// The mounts that do not answer now.
pub fn silent() -> Vec<PathBuf> {
    points().into_iter().filter(|point| !answers(point)).collect()
}

static TABLE: LazyLock<Table> =
    LazyLock::new(|| Table { list: File::open("/proc/self/mountinfo").ok(), ..Table::default() });

/// The mounts that may hang.
#[derive(Default)]
struct Table {
    /// The kernel marks the open file when the mounts have changed.
    list: Option<File>,
    known: Mutex<Option<Known>>,
}

struct Known {
    mounts: HashMap<PathBuf, Arc<Mount>>,
    /// When the kernel said last that this is so.
    as_of: Instant,
}

impl Table {
    /// The mount that may hang and has the directory in it.
    fn mount_of(&self, directory: &Path) -> Option<Arc<Mount>> {
        self.with_mounts(|mounts| {
            let mounts = Some(mounts).filter(|mounts| !mounts.is_empty())?;
            directory.ancestors().find_map(|above| mounts.get(above).cloned())
        })
    }

    fn any(&self) -> bool {
        self.with_mounts(|mounts| !mounts.is_empty())
    }

    fn with_mounts<T>(&self, look: impl FnOnce(&HashMap<PathBuf, Arc<Mount>>) -> T) -> T {
        let mut known = self.known.locked();
        let now = Instant::now();
        if let Some(known) = &mut *known {
            // One look at many paths asks the kernel once.
            if now.duration_since(known.as_of) < FRESH_LIST {
                return look(&known.mounts);
            }
            if !self.has_changed() {
                known.as_of = now;
                return look(&known.mounts);
            }
        }
        let before = known.take().map(|known| known.mounts).unwrap_or_default();
        let mount = |point: PathBuf| {
            let mount = before.get(&point).cloned().unwrap_or_else(|| Arc::new(Mount::new(point.clone())));
            (point, mount)
        };
        let mounts = points().into_iter().map(mount).collect();
        look(&known.insert(Known { mounts, as_of: now }).mounts)
    }

    fn has_changed(&self) -> bool {
        let Some(list) = &self.list else { return false };
        let mut polled = [PollFd::new(list, PollFlags::PRI)];
        let _ = poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
        polled[0].revents().intersects(PollFlags::PRI | PollFlags::ERR)
    }
}

/// The mounts that may hang, as of now.
fn points() -> Vec<PathBuf> {
    let mut text = Vec::new();
    let _ = File::open("/proc/self/mountinfo").and_then(|mut list| list.read_to_end(&mut text));
    text.split(|byte| *byte == b'\n').filter_map(point_that_may_hang).collect()
}

/// From a line of the list: `36 35 98:0 /root /point options … - kind source options`.
fn point_that_may_hang(line: &[u8]) -> Option<PathBuf> {
    let mut fields = line.split(|byte| *byte == b' ');
    let point = fields.nth(4)?;
    let kind = fields.skip_while(|field| *field != b"-").nth(1)?;
    let local = LOCAL.split_whitespace().any(|local| local.as_bytes() == kind);
    (!local).then(|| PathBuf::from(OsString::from_vec(unescaped(point))))
}

/// The list has blanks, tabs, newlines and backslashes as three octal digits behind a backslash.
fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()).filter(|_| *first == b'\\');
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &after[3..] } else { after };
    }
    bytes
}

/// A mount that may hang.
#[derive(Debug)]
struct Mount {
    point: PathBuf,
    asked: Mutex<Asked>,
    changed: Condvar,
}

#[derive(Clone, Copy, Debug)]
enum Asked {
    Never,
    /// A thread waits for the answer since then.
    Waiting(Instant),
    Answered(Instant),
}

impl Mount {
    fn new(point: PathBuf) -> Self {
        Self { point, asked: Mutex::new(Asked::Never), changed: Condvar::new() }
    }

    fn answers(self: &Arc<Self>) -> bool {
        let mut asked = self.asked.locked();
        let since = match *asked {
            Asked::Answered(at) if at.elapsed() < FRESH => return true,
            Asked::Waiting(since) => since,
            Asked::Answered(_) | Asked::Never => {
                let mount = self.clone();
                let touch = move || {
                    // Whatever the answer is, it is one. The flag makes the kernel ask even if it remembers an answer.
                    let _ = statx(CWD, &mount.point, AtFlags::STATX_FORCE_SYNC, StatxFlags::BASIC_STATS);
                    *mount.asked.locked() = Asked::Answered(Instant::now());
                    mount.changed.notify_all();
                };
                if std::thread::Builder::new().name("mount".to_owned()).spawn(touch).is_err() {
                    return true;
                }
                *asked = Asked::Waiting(Instant::now());
                Instant::now()
            }
        };
        while matches!(*asked, Asked::Waiting(_)) {
            let Some(left) = PATIENCE.checked_sub(since.elapsed()).filter(|left| !left.is_zero()) else { return false };
            asked = self.changed.wait_timeout(asked, left).unwrap_or_else(std::sync::PoisonError::into_inner).0;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_mounts_that_ask_somebody_else_may_hang() {
        for (line, point) in [
            ("36 35 0:51 / /p/net rw,relatime - fuse test rw,user_id=0", Some("/p/net")),
            ("36 35 0:51 / /p/a\\040b\\134 rw shared:1 master:2 - nfs4 host:/x rw", Some("/p/a b\\")),
            ("36 35 0:51 / /p/new rw - never-heard-of x rw", Some("/p/new")),
            ("36 35 8:1 / /home rw - ext4 /dev/sda1 rw", None),
            ("36 35 0:51 / / rw - overlay overlay rw", None),
            ("", None),
            ("36 35", None),
        ] {
            assert_eq!(point_that_may_hang(line.as_bytes()), point.map(PathBuf::from), "{line}");
        }
    }

    #[test]
    fn a_local_directory_answers() {
        assert!(answers(Path::new("/")) && answers(Path::new("/proc/self")));
        assert!(Arc::new(Mount::new("/".into())).answers());
        assert!(Arc::new(Mount::new("/not/there".into())).answers(), "an error is an answer");
    }
}
