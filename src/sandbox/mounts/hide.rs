//! Hides secrets behind empty files.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::super::failure::{Doing, Failure};
use super::calls::{self, HARMLESS, READ_ONLY};

/// An empty directory that nobody may enter, and a device that nobody may open. They are in the session's own `/dev`, so
/// that the guard finds them when it hides more paths later. The file is a device because root could open an empty file of
/// any mode, and would take a hidden secret for an empty one. The mount allows no devices, so opening it is refused.
const EMPTY_DIRECTORY: &str = "/dev/.hidden/directory";
const NO_DEVICE: &str = "/dev/.hidden/device";
/// Where the content of a [`super::cover::Cover`] is put together.
pub const WORKSHOP: &str = "/dev/.hidden/workshop";
pub const SSH_SETTINGS: &str = "/dev/.hidden/ssh_config";

/// Creates them, while the session's `/dev` is still writable.
pub fn create_covers() -> Result<(), Failure> {
    let make = || -> io::Result<()> {
        [EMPTY_DIRECTORY, WORKSHOP].iter().try_for_each(std::fs::create_dir_all)?;
        // The number of a whiteout, the only device that everybody may create.
        mknodat(CWD, NO_DEVICE, FileType::CharacterDevice, Mode::empty(), 0)?;
        let paths = [EMPTY_DIRECTORY, WORKSHOP];
        paths.iter().try_for_each(|path| std::fs::set_permissions(path, Permissions::from_mode(0o000)))
    };
    make().doing(|| "create the empty files that hide others".to_owned())
}

/// Hides a path. Does nothing if it does not exist, and follows a symbolic link to hide its target.
pub fn hide(path: &Path) -> Result<(), Failure> {
    let Ok(metadata) = std::fs::metadata(path) else { return Ok(()) };
    let empty = Path::new(if metadata.is_dir() { EMPTY_DIRECTORY } else { NO_DEVICE });
    let cover = || -> io::Result<()> {
        let mount = calls::clone_at(empty)?;
        calls::set_cloned(&mount, HARMLESS | READ_ONLY)?;
        calls::attach(&mount, &path.canonicalize()?)
    };
    cover().doing(|| format!("hide {}", path.display()))
}
