//! Hides secrets behind empty files.

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::super::failure::{Doing, Failure};
use super::calls::{self, HARMLESS, READ_ONLY};

/// An empty directory and an empty file that nobody may read, write or enter. They are in the session's own `/dev`, so that
/// the guard finds them when it hides more paths later.
const EMPTY_DIRECTORY: &str = "/dev/.hidden/directory";
const EMPTY_FILE: &str = "/dev/.hidden/file";

/// Creates the empty file and directory, while the session's `/dev` is still writable.
pub fn create_covers() -> Result<(), Failure> {
    let make = || -> io::Result<()> {
        std::fs::create_dir_all(EMPTY_DIRECTORY)?;
        File::create(EMPTY_FILE)?;
        let paths = [EMPTY_DIRECTORY, EMPTY_FILE];
        paths.iter().try_for_each(|path| std::fs::set_permissions(path, Permissions::from_mode(0o000)))
    };
    make().doing(|| "create the empty files that hide others".to_owned())
}

/// Hides a path. Does nothing if it does not exist, and follows a symbolic link to hide its target.
pub fn hide(path: &Path) -> Result<(), Failure> {
    let Ok(metadata) = std::fs::metadata(path) else { return Ok(()) };
    let empty = Path::new(if metadata.is_dir() { EMPTY_DIRECTORY } else { EMPTY_FILE });
    let cover = || -> io::Result<()> {
        let mount = calls::clone_at(empty)?;
        calls::set_cloned(&mount, HARMLESS | READ_ONLY)?;
        calls::attach(&mount, &path.canonicalize()?)
    };
    cover().doing(|| format!("hide {}", path.display()))
}
