//! Finds the file that a path means to a caller, and where it lies.
//!
//! The caller's `/` is the session's, so a path is resolved with `openat2` and RESOLVE_IN_ROOT from there: no symbolic link
//! and no `..` leaves it, whatever is renamed meanwhile. What counts afterwards is the file that was opened, never its name.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};

use super::caller::Caller;

/// The file system of a session.
pub struct View {
    root: File,
}

/// A file that is open, but neither for reading nor for writing.
pub struct Found {
    descriptor: OwnedFd,
    /// Where it lies, as the session sees it.
    pub path: PathBuf,
}

/// What a relative path is relative to.
#[derive(Clone, Copy)]
pub enum Base {
    WorkingDirectory,
    Descriptor(i32),
}

#[derive(Clone, Copy, Eq, PartialEq)]
pub enum LastLink {
    Follow,
    Open,
}

impl View {
    /// What a keeper sees that is still dumpable. All its descendants have the same `/`, because `chroot` is refused.
    pub fn of(keeper: i32) -> io::Result<Self> {
        use std::os::unix::fs::OpenOptionsExt;
        let root = File::options().read(true).custom_flags(libc::O_PATH).open(format!("/proc/{keeper}/root"))?;
        Ok(Self { root })
    }

    /// Opens what a path means to the caller.
    pub fn open(&self, caller: &Caller, base: Base, path: &Path, last: LastLink) -> io::Result<Found> {
        let path = absolute(caller, base, path)?;
        if let Some((link, rest)) = own_link(&path) {
            // The path leads through a file of the caller's /proc/self, which would be ours if we followed it.
            return match link.strip_prefix("fd/").filter(|_| rest.as_os_str().is_empty()) {
                Some(number) => {
                    let number = number.parse().map_err(|_| io::ErrorKind::NotFound)?;
                    Found::new(caller.descriptor(number)?)
                }
                None => self.resolve(&caller.link(&link)?.join(rest), last),
            };
        }
        self.resolve(&path, last)
    }

    fn resolve(&self, path: &Path, last: LastLink) -> io::Result<Found> {
        const ATTEMPTS: usize = 100;
        let flags =
            OFlags::PATH | OFlags::CLOEXEC | if last == LastLink::Open { OFlags::NOFOLLOW } else { OFlags::empty() };
        for _ in 0..ATTEMPTS {
            match openat2(&self.root, path, flags, Mode::empty(), ResolveFlags::IN_ROOT) {
                // A directory on the way was renamed, so the kernel cannot be sure that `..` stayed inside.
                Err(rustix::io::Errno::AGAIN) => {}
                opened => return Found::new(opened?),
            }
        }
        Err(io::Error::from_raw_os_error(libc::EAGAIN))
    }
}

impl Found {
    pub fn new(descriptor: OwnedFd) -> io::Result<Self> {
        let path = std::fs::read_link(format!("/proc/self/fd/{}", descriptor.as_raw_fd()))?;
        Ok(Self { descriptor, path })
    }

    /// A path by which this very file can be used, whatever happens to its name.
    pub fn stable_path(&self) -> String {
        format!("/proc/self/fd/{}", self.descriptor.as_raw_fd())
    }

    pub fn stat(&self) -> io::Result<rustix::fs::Stat> {
        Ok(rustix::fs::fstat(&self.descriptor)?)
    }
}

impl AsFd for Found {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl From<Found> for OwnedFd {
    fn from(found: Found) -> Self {
        found.descriptor
    }
}

/// The path from `/` on, as the caller would write it.
pub fn absolute(caller: &Caller, base: Base, path: &Path) -> io::Result<PathBuf> {
    if path.is_absolute() {
        return Ok(path.to_owned());
    }
    let base = match base {
        Base::WorkingDirectory | Base::Descriptor(libc::AT_FDCWD) => caller.link("cwd")?,
        Base::Descriptor(number) => caller.link(&format!("fd/{number}"))?,
    };
    Ok(base.join(path))
}

/// Splits a path such as `/proc/self/fd/3/socket`, which is a common way around the limit of 107 bytes: into `fd/3` and
/// the rest.
fn own_link(path: &Path) -> Option<(String, PathBuf)> {
    let rest = match path.strip_prefix("/dev/fd") {
        Ok(rest) => Path::new("fd").join(rest),
        Err(_) => ["/proc/self", "/proc/thread-self"].iter().find_map(|own| path.strip_prefix(own).ok())?.to_owned(),
    };
    let mut parts = rest.components();
    let first = parts.next()?.as_os_str().to_str()?.to_owned();
    let link = match first.as_str() {
        "cwd" | "root" => first,
        "fd" => format!("fd/{}", parts.next()?.as_os_str().to_str()?),
        _ => return None,
    };
    Some((link, parts.as_path().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_the_calling_process_are_recognised() {
        for (path, link, rest) in [
            ("/proc/self/fd/3/x.sock", "fd/3", "x.sock"),
            ("/proc/self/fd/3", "fd/3", ""),
            ("/dev/fd/12/a/b", "fd/12", "a/b"),
            ("/proc/thread-self/cwd/x", "cwd", "x"),
            ("/proc/self/root/run/x", "root", "run/x"),
        ] {
            assert_eq!(own_link(Path::new(path)), Some((link.to_owned(), PathBuf::from(rest))), "{path}");
        }
        for path in ["/proc/1/cwd/x", "/proc/self", "/proc/self/exe", "/run/x", "/dev/fd"] {
            assert_eq!(own_link(Path::new(path)), None, "{path}");
        }
    }
}
