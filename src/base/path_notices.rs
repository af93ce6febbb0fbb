//! Says whether anything may have happened to some paths, at the cost of two system calls however many they are.
//!
//! The kernel queues a notice before the call that changed something returns (inotify). So as long as there is none, a look at
//! the paths would find what the last look found. A notice only says that it is time to look again.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::io::Errno;

use super::locks::LockExt;

#[derive(Debug)]
pub struct PathNotices {
    inotify: OwnedFd,
    /// The kernel marks the open file when mounts have changed. A mount can put something else in the place of a path.
    mounts: File,
    above: HashSet<PathBuf>,
    count: Mutex<u64>,
}

impl PathNotices {
    pub fn begin() -> io::Result<Self> {
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        Ok(Self {
            inotify,
            mounts: File::open("/proc/self/mountinfo")?,
            above: HashSet::new(),
            count: Mutex::default(),
        })
    }

    /// Watches a file, or a directory and the names in it. The path must be free of symbolic links and lie on file systems that
    /// only this machine changes.
    pub fn add(&mut self, path: &Path) -> io::Result<()> {
        let seen = WatchFlags::ATTRIB
            | WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MODIFY
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | Self::itself();
        self.watch(path, seen)?;
        // A directory above it can be moved away, and another one put in its place.
        for above in path.ancestors().skip(1) {
            if !self.above.insert(above.to_owned()) {
                break;
            }
            self.watch(above, Self::itself())?;
        }
        Ok(())
    }

    fn itself() -> WatchFlags {
        WatchFlags::MOVE_SELF | WatchFlags::DELETE_SELF
    }

    fn watch(&self, path: &Path, seen: WatchFlags) -> io::Result<()> {
        inotify::add_watch(&self.inotify, path, seen | WatchFlags::DONT_FOLLOW | WatchFlags::MASK_ADD)?;
        Ok(())
    }

    /// How often something was noticed. As long as the number stays the same, nothing has happened.
    pub fn count(&self) -> u64 {
        // Two threads must not share a notice: one would have it and the other find nothing.
        let mut count = self.count.locked();
        *count += u64::from(self.take());
        *count
    }

    fn take(&self) -> bool {
        let mounts = PollFd::new(&self.mounts, PollFlags::PRI);
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut noticed = !matches!(poll(&mut [mounts], Some(&now)), Ok(0));
        let mut notices = [0; 4096];
        loop {
            match rustix::io::read(&self.inotify, &mut notices) {
                Ok(1..) => noticed = true,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return noticed,
                // Nothing is known any more.
                Ok(0) | Err(_) => return true,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn every_change_is_noticed_once() {
        let world = tempfile::tempdir().unwrap();
        let base = world.path().canonicalize().unwrap();
        let (directory, file) = (base.join("a/b"), base.join("a/file"));
        fs::create_dir_all(&directory).unwrap();
        fs::write(&file, "x").unwrap();
        let mut notices = PathNotices::begin().unwrap();
        notices.add(&directory).unwrap();
        notices.add(&file).unwrap();
        assert_eq!(notices.count(), 0);
        let changes: [(&str, &dyn Fn()); 7] = [
            ("a new name", &|| fs::write(directory.join("new"), "").unwrap()),
            ("a name that went", &|| fs::remove_file(directory.join("new")).unwrap()),
            ("content", &|| fs::write(&file, "y").unwrap()),
            ("a mode", &|| fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap()),
            ("a directory above moved", &|| fs::rename(base.join("a"), base.join("c")).unwrap()),
            ("and back", &|| fs::rename(base.join("c"), base.join("a")).unwrap()),
            ("another file in its place", &|| {
                fs::write(base.join("other"), "z").unwrap();
                fs::rename(base.join("other"), &file).unwrap();
            }),
        ];
        for ((name, change), count) in changes.into_iter().zip(1..) {
            change();
            assert_eq!(notices.count(), count, "{name}");
            assert_eq!(notices.count(), count, "{name}");
        }
        let before = notices.count();
        fs::write(base.join("elsewhere"), "").unwrap();
        assert_eq!(notices.count(), before);
    }

    #[test]
    fn what_is_missing_cannot_be_watched() {
        assert!(PathNotices::begin().unwrap().add(Path::new("/nowhere/at/all")).is_err());
    }
}
