//! Putting nothing over something: secrets, and sockets that lead out of the sandbox.

use std::fs::{File, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::mount::MountFlags;

use super::super::Profile;
use super::super::failure::{Doing, Failure};
use super::super::profile::Sockets;
use super::calls::{self, HARMLESS, READ_ONLY};

/// An empty directory and an empty file that nobody may read, write or enter.
pub struct Empty {
    directory: PathBuf,
    file: PathBuf,
}

/// Where the two live for as long as the keeper needs their names; a directory that every machine has.
const WORKSHOP: &str = "/dev/shm";

impl Empty {
    pub fn new() -> Result<Self, Failure> {
        let workshop = Path::new(WORKSHOP);
        let make = || -> io::Result<Self> {
            let (directory, file) = (workshop.join("directory"), workshop.join("file"));
            calls::fresh("tmpfs", workshop, MountFlags::NOSUID | MountFlags::NODEV, "mode=755,size=4k")?;
            std::fs::create_dir(&directory)?;
            File::create(&file)?;
            for path in [&directory, &file] {
                std::fs::set_permissions(path, Permissions::from_mode(0o000))?;
            }
            Ok(Self { directory, file })
        };
        make().doing(|| "make an empty file to hide others behind".to_owned())
    }

    /// What does not exist needs no hiding; a link is followed, so that its target is hidden.
    pub fn put_over(&self, path: &Path) -> Result<(), Failure> {
        let Ok(metadata) = std::fs::metadata(path) else { return Ok(()) };
        let empty = if metadata.is_dir() { &self.directory } else { &self.file };
        let held = || -> io::Result<OwnedFd> {
            let held = calls::hold(empty)?;
            calls::set_held(&held, HARMLESS | READ_ONLY)?;
            calls::put(&held, &path.canonicalize()?)?;
            Ok(held)
        };
        held().map(drop).doing(|| format!("hide {}", path.display()))
    }
}

impl Drop for Empty {
    fn drop(&mut self) {
        // What was put over something stays when the workshop goes.
        let _ = rustix::mount::unmount(WORKSHOP, rustix::mount::UnmountFlags::DETACH);
    }
}

/// Named sockets of the host that the covers do not hide. Connecting needs no writable mount, so a read-only file system
/// would not keep a command from talking to the docker daemon.
pub fn foreign_sockets(profile: &Profile) -> Vec<PathBuf> {
    let Sockets::Only(allowed) = &profile.sockets else { return Vec::new() };
    let table = std::fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let hidden_or_ours = |path: &Path| {
        path.starts_with("/run")
            || path.starts_with("/dev")
            || path.starts_with(profile.tmp_seen())
            || profile.writable.iter().chain(allowed).any(|ours| path.starts_with(ours))
    };
    let is_socket = |path: &PathBuf| std::fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket());
    let mut paths: Vec<PathBuf> = table
        .lines()
        .filter_map(|line| line.find(" /").map(|at| PathBuf::from(&line[at + 1..])))
        .filter(|path| !hidden_or_ours(path) && is_socket(path))
        .collect();
    paths.sort();
    paths.dedup();
    paths
}
