//! What one session keeps on disk: its temporary directory and its stored output.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::ServerDirectory;
use super::output::{DiskFull, SessionDisk, Spill, StoredFile};
use super::remove_tree::remove_tree;
use super::tree_size::TreeSize;

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

    /// One for another session of the same server.
    #[must_use]
    pub fn another(&self) -> Self {
        self.server.session()
    }

    /// Where one more stream is stored.
    pub fn spill(&self) -> Spill {
        let path = self.server.new_path("").ok();
        Spill::new(path.map(|path| StoredFile::new(path, self.disk.clone())), self.server.budget)
    }

    /// The server's directory, in which it lies.
    pub fn server(&self) -> &ServerDirectory {
        &self.server
    }

    /// The session's temporary directory, as the host sees it.
    pub fn temporary(&self) -> Result<&Path, &io::Error> {
        self.temporary.as_deref()
    }

    /// Measures the temporary directory. Returns its size, and whether that is too much.
    pub fn measure(&self) -> (u64, Result<(), DiskFull>) {
        let size = self.temporary().map_or(0, |temporary| TreeSize::of(temporary).bytes);
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
