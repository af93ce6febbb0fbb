//! Measuring and removing trees that commands wrote. They may hold directories that their owner may not enter.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Size {
    pub files: u64,
    /// On the disk.
    pub bytes: u64,
}

/// Everything at and below a path. Links are not followed.
pub fn measure(path: &Path) -> Size {
    let mut size = Size::default();
    let mut next = vec![path.to_owned()];
    while let Some(path) = next.pop() {
        let Ok(found) = path.symlink_metadata() else { continue };
        size.files += 1;
        size.bytes += found.blocks() * 512;
        if found.is_dir() {
            next.extend(std::fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()));
        }
    }
    size
}

pub fn remove(path: &Path) -> io::Result<()> {
    std::fs::remove_dir_all(path).or_else(|_| {
        open_up(path);
        std::fs::remove_dir_all(path)
    })
}

/// Lets the owner into every directory.
fn open_up(directory: &Path) {
    let mut next = vec![directory.to_owned()];
    while let Some(path) = next.pop() {
        if !path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            continue;
        }
        let _ = std::fs::set_permissions(&path, Permissions::from_mode(0o700));
        next.extend(std::fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_nobody_may_enter_can_be_removed() {
        let world = tempfile::tempdir().unwrap();
        let top = world.path().join("top");
        std::fs::create_dir_all(top.join("a/b")).unwrap();
        std::fs::set_permissions(top.join("a"), Permissions::from_mode(0o000)).unwrap();
        remove(&top).unwrap();
        assert!(!top.exists());
    }
}
