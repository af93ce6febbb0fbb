//! The session's own `/dev`: a few harmless devices, shared memory and terminals. It has no disks and no consoles of the
//! host.

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

/// Clones the harmless devices of the host, before [`build`] covers its `/dev`.
pub fn clone_devices() -> Result<Vec<(PathBuf, OwnedFd)>, Failure> {
    let clone = |name: &str| {
        let path = Path::new("/dev").join(name);
        let mount = calls::clone_at(&path).doing(|| format!("clone {}", path.display()))?;
        Ok((path, mount))
    };
    DEVICES.into_iter().map(clone).collect()
}

/// Builds the session's `/dev`. It is still writable afterwards, because a project may have to be attached below it.
pub fn build(devices: &[(PathBuf, OwnedFd)], profile: &Profile) -> Result<(), Failure> {
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    let dev = Path::new("/dev");
    calls::mount_new("tmpfs", dev, flags, "mode=755,size=1m").doing(|| "cover /dev".to_owned())?;
    for (path, device) in devices {
        File::create(path).doing(|| format!("create {}", path.display()))?;
        calls::attach(device, path).doing(|| format!("attach {}", path.display()))?;
    }
    for (name, target) in LINKS {
        std::os::unix::fs::symlink(target, dev.join(name)).doing(|| format!("link /dev/{name}"))?;
    }
    for (name, kind, options) in [
        ("pts", "devpts", "newinstance,ptmxmode=0666,mode=620".to_owned()),
        // Its files count as memory. They may take half of it: the processes that remove them need memory too.
        ("shm", "tmpfs", format!("mode=1777,size={}", (profile.limits.memory / 2).max(1 << 20))),
    ] {
        let path = dev.join(name);
        std::fs::create_dir(&path).doing(|| format!("create {}", path.display()))?;
        calls::mount_new(kind, &path, flags, &options).doing(|| format!("mount {}", path.display()))?;
    }
    hide::create_covers()
}
