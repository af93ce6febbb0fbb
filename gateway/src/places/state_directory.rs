//! Where a gateway keeps the sockets and tokens of its places: one directory per place, below one that is private. All
//! replicas on a machine use the same.

use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

#[derive(Clone, Debug)]
pub struct StateDirectory(PathBuf);

impl StateDirectory {
    /// The usual place of this user's.
    pub fn usual() -> PathBuf {
        let base = match std::env::var_os("XDG_RUNTIME_DIR") {
            Some(runtime) if !runtime.is_empty() => PathBuf::from(runtime),
            _ if rustix::process::geteuid().is_root() => PathBuf::from("/run"),
            _ => PathBuf::from(format!("/tmp/testudo-gateway-{}", rustix::process::geteuid().as_raw())),
        };
        base.join("testudo-gateway")
    }

    pub fn open(path: &Path) -> io::Result<Self> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        let found = std::fs::symlink_metadata(path)?;
        let own = rustix::process::geteuid().as_raw();
        if !found.is_dir() || found.uid() != own || found.mode() & 0o077 != 0 {
            let reason = format!("{} is not private: it needs mode 0700 and user {own}", path.display());
            return Err(io::Error::other(reason));
        }
        Ok(Self(path.to_owned()))
    }

    pub fn of(&self, id: &str) -> PathBuf {
        self.0.join(id)
    }

    pub fn socket(&self, id: &str) -> PathBuf {
        self.of(id).join("socket")
    }

    /// Makes the directory of a place, with its token, for the user who runs the server in the place.
    pub fn make(&self, id: &str, token: &str, user: (u32, u32)) -> io::Result<PathBuf> {
        let directory = self.of(id);
        std::fs::DirBuilder::new().mode(0o700).create(&directory)?;
        let file = directory.join("token");
        std::fs::write(&file, format!("gateway {token}\n"))?;
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600))?;
        if user.0 != rustix::process::geteuid().as_raw() {
            std::os::unix::fs::chown(&file, Some(user.0), Some(user.1))?;
            std::os::unix::fs::chown(&directory, Some(user.0), Some(user.1))?;
        }
        Ok(directory)
    }

    /// Whether the caller is the first who takes this place. The file system decides, for all replicas on the machine.
    pub fn take(&self, id: &str) -> bool {
        std::fs::OpenOptions::new().create_new(true).write(true).open(self.mark(id)).is_ok()
    }

    /// Beside the directory of the place, where the place cannot reach it.
    fn mark(&self, id: &str) -> PathBuf {
        self.0.join(format!("{id}.taken"))
    }

    pub fn remove(&self, id: &str) {
        let _ = std::fs::remove_file(self.mark(id));
        if let Err(error) = std::fs::remove_dir_all(self.of(id))
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!("failed to remove {}: {error}", self.of(id).display());
        }
    }

    /// The places that have a directory, with its age in seconds.
    pub fn all(&self) -> Vec<(String, u64)> {
        let entries = std::fs::read_dir(&self.0).into_iter().flatten().flatten();
        let age =
            |entry: &std::fs::DirEntry| entry.metadata().ok()?.modified().ok()?.elapsed().ok().map(|age| age.as_secs());
        entries
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .map(|entry| (entry.file_name().to_string_lossy().into_owned(), age(&entry).unwrap_or(0)))
            .collect()
    }
}
