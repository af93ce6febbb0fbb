//! What one session keeps on disk: its temporary directory and its stored output.

use std::collections::HashSet;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::ServerDirectory;
use super::output::{DiskFull, SessionDisk, Spill, StoredFile};
use super::remove_tree::remove_tree;

/// The temporary directory is removed with this value.
#[derive(Debug)]
pub struct SessionDirectory {
    server: Arc<ServerDirectory>,
    disk: Arc<SessionDisk>,
    /// As the host sees it.
    temporary: io::Result<PathBuf>,
}

impl SessionDirectory {
    pub(super) fn new(server: Arc<ServerDirectory>, disk: SessionDisk) -> Self {
        let temporary = server.new_path("tmp-").and_then(|path| make(&path));
        Self { server, disk: Arc::new(disk), temporary }
    }

    /// Where one more stream is stored.
    pub fn spill(&self) -> Spill {
        let path = self.server.new_path("").ok();
        Spill::new(path.map(|path| StoredFile::new(path, self.disk.clone())), self.server.budget)
    }

    /// The session's temporary directory, as the host sees it.
    pub fn temporary(&self) -> Result<&Path, &io::Error> {
        self.temporary.as_deref()
    }

    /// Measures the temporary directory. Returns its size, and whether that is too much.
    pub fn measure(&self) -> (u64, Result<(), DiskFull>) {
        let size = self.temporary().map_or(0, size_of_tree);
        (size, self.disk.set_temporary(size))
    }

    /// Removes the temporary directory with everything in it, when the session has ended.
    pub fn remove(&self) {
        if let Ok(temporary) = &self.temporary {
            remove_tree(temporary);
        }
    }
}

impl Drop for SessionDirectory {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Every user may write in it, because a session's commands may run as several users. The directory above it is closed to
/// all others.
fn make(path: &Path) -> io::Result<PathBuf> {
    std::fs::create_dir(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o1777))?;
    path.canonicalize()
}

/// The bytes that a directory with everything below it takes on disk.
fn size_of_tree(root: &Path) -> u64 {
    const BLOCK: u64 = 512;
    let (mut open, mut linked, mut size) = (vec![root.to_owned()], HashSet::new(), 0);
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            // Symbolic links are not followed.
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_dir() {
                open.push(entry.path());
            }
            if metadata.is_dir() || metadata.nlink() == 1 || linked.insert(metadata.ino()) {
                size += metadata.blocks() * BLOCK;
            }
        }
    }
    size
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_two_names_counts_once_and_a_link_not_at_all() {
        let world = tempfile::tempdir().unwrap();
        let root = world.path();
        std::fs::create_dir(root.join("d")).unwrap();
        std::fs::write(root.join("d/a"), vec![1; 1 << 20]).unwrap();
        let before = size_of_tree(root);
        assert!(before >= 1 << 20);
        std::fs::hard_link(root.join("d/a"), root.join("b")).unwrap();
        std::os::unix::fs::symlink("/usr", root.join("c")).unwrap();
        assert!(size_of_tree(root) < before + 64 * 1024);
    }
}
