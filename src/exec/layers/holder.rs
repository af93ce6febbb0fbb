//! How one server gets the mount that another server has made: a server that has a layer mounted writes down the numbers
//! of its descriptors of the mount's namespaces. A second server of the same user opens them through `/proc`.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The user namespace and the mount namespace in which a home is mounted. They live as long as a descriptor of them.
#[derive(Debug)]
pub struct Namespaces {
    pub users: OwnedFd,
    pub mounts: OwnedFd,
}

/// The entry of this server. It is removed with this value.
#[derive(Debug)]
pub struct Holder(PathBuf);

impl Holder {
    /// `view` tells which masks the mount has: only a server that wants the same ones can share it.
    pub fn register(directory: &Path, namespaces: &Namespaces, view: u64) -> io::Result<Self> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        let fields =
            [&namespaces.users, &namespaces.mounts].map(|descriptor| Ok((descriptor.as_raw_fd(), inode(descriptor)?)));
        let [users, mounts]: [io::Result<(i32, u64)>; 2] = fields;
        let ((users, users_inode), (mounts, mounts_inode)) = (users?, mounts?);
        let path = directory.join(std::process::id().to_string());
        std::fs::write(&path, format!("{view} {users} {users_inode} {mounts} {mounts_inode}\n"))?;
        Ok(Self(path))
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The namespaces of another server that has the layer mounted with the same masks. Entries of dead servers are removed.
pub fn find(directory: &Path, view: u64) -> Option<Namespaces> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).find_map(|path| {
        let process = PathBuf::from("/proc").join(path.file_name()?);
        if !process.exists() {
            let _ = std::fs::remove_file(&path);
            return None;
        }
        let text = std::fs::read_to_string(&path).ok()?;
        let fields: Vec<u64> = text.split_whitespace().filter_map(|field| field.parse().ok()).collect();
        let [found, users, users_inode, mounts, mounts_inode] = fields[..] else { return None };
        // Another process may have got the number of a server that died. It does not have these namespaces open.
        let open = |number: u64, wanted: u64| {
            let descriptor = OwnedFd::from(File::open(process.join(format!("fd/{number}"))).ok()?);
            inode(&descriptor).is_ok_and(|inode| inode == wanted).then_some(descriptor)
        };
        if found != view {
            return None;
        }
        Some(Namespaces { users: open(users, users_inode)?, mounts: open(mounts, mounts_inode)? })
    })
}

fn inode(descriptor: &OwnedFd) -> io::Result<u64> {
    Ok(File::from(descriptor.try_clone()?).metadata()?.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespaces_are_found_through_their_holder() {
        let world = tempfile::tempdir().unwrap();
        let own = |name: &str| OwnedFd::from(File::open(format!("/proc/self/ns/{name}")).unwrap());
        let namespaces = Namespaces { users: own("user"), mounts: own("mnt") };
        let holder = Holder::register(world.path(), &namespaces, 7).unwrap();
        let found = find(world.path(), 7).unwrap();
        assert_eq!(inode(&found.mounts).unwrap(), inode(&namespaces.mounts).unwrap());
        assert!(find(world.path(), 8).is_none(), "other masks");
        drop(holder);
        assert!(find(world.path(), 7).is_none());
    }
}
