//! A `/dev` with nothing but what programs need: no disks, no consoles of the host, terminals of the session's own.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::mount::MountFlags;

use super::super::Profile;
use super::super::failure::{Doing, Failure};
use super::calls;
use super::hide;

const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];
const LINKS: [(&str, &str); 5] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];

/// The host's harmless devices, before its `/dev` is covered.
pub fn hold() -> Result<Vec<(PathBuf, OwnedFd)>, Failure> {
    let hold = |name: &str| {
        let path = Path::new("/dev").join(name);
        let held = calls::hold(&path).doing(|| format!("hold {}", path.display()))?;
        Ok((path, held))
    };
    DEVICES.into_iter().map(hold).collect()
}

/// It can still be written when this returns: a project may have to be shown below it.
pub fn build(devices: &[(PathBuf, OwnedFd)], profile: &Profile) -> Result<(), Failure> {
    let quiet = MountFlags::NOSUID | MountFlags::NOEXEC;
    let dev = Path::new("/dev");
    calls::fresh("tmpfs", dev, quiet, "mode=755,size=64k").doing(|| "cover /dev".to_owned())?;
    for (path, held) in devices {
        File::create(path).doing(|| format!("make room for {}", path.display()))?;
        calls::put(held, path).doing(|| format!("put {} in its place", path.display()))?;
    }
    for (name, target) in LINKS {
        std::os::unix::fs::symlink(target, dev.join(name)).doing(|| format!("link /dev/{name}"))?;
    }
    for (name, kind, options) in [
        ("pts", "devpts", "newinstance,ptmxmode=0666,mode=620".to_owned()),
        // Shared memory is memory: what a session may use of it is bounded like the rest.
        ("shm", "tmpfs", format!("mode=1777,size={}", profile.limits.memory.max(1 << 20))),
    ] {
        let path = dev.join(name);
        std::fs::create_dir(&path).doing(|| format!("make room for {}", path.display()))?;
        calls::fresh(kind, &path, quiet, &options).doing(|| format!("mount {}", path.display()))?;
    }
    hide::make_empty()
}
