//! Putting nothing over something: secrets, and sockets that lead out of the sandbox.

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::super::Profile;
use super::super::failure::{Doing, Failure};
use super::super::profile::Sockets;
use super::calls::{self, HARMLESS, READ_ONLY};

/// An empty directory and an empty file that nobody may read, write or enter. They live in the session's own `/dev`, so
/// that more can be hidden behind them later.
const DIRECTORY: &str = "/dev/.hidden/directory";
const FILE: &str = "/dev/.hidden/file";

/// While the session's `/dev` is being built and can still be written.
pub fn make_empty() -> Result<(), Failure> {
    let make = || -> io::Result<()> {
        std::fs::create_dir_all(DIRECTORY)?;
        File::create(FILE)?;
        [DIRECTORY, FILE].iter().try_for_each(|path| std::fs::set_permissions(path, Permissions::from_mode(0o000)))
    };
    make().doing(|| "make an empty file to hide others behind".to_owned())
}

/// What does not exist needs no hiding; a link is followed, so that its target is hidden.
pub fn put_over(path: &Path) -> Result<(), Failure> {
    let Ok(metadata) = std::fs::metadata(path) else { return Ok(()) };
    let empty = Path::new(if metadata.is_dir() { DIRECTORY } else { FILE });
    let hide = || -> io::Result<()> {
        let held = calls::hold(empty)?;
        calls::set_held(&held, HARMLESS | READ_ONLY)?;
        calls::put(&held, &path.canonicalize()?)
    };
    hide().doing(|| format!("hide {}", path.display()))
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
