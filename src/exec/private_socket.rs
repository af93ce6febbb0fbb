//! A unix socket that only its owner (and root) can connect to.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, fchmod};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with};

/// The file is removed with this value.
#[derive(Debug)]
pub struct PrivateSocket {
    path: PathBuf,
    /// Device and inode of the file. Another server may have put its own file there.
    identity: (u64, u64),
}

const BACKLOG: i32 = 1024;

impl PrivateSocket {
    /// Listens at this path, without blocking. A socket that a dead server left there is replaced.
    pub fn listen(path: &Path) -> io::Result<(UnixListener, Self)> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        // The file gets the mode that the socket has when it is bound, so it is never open to others.
        fchmod(socket.as_fd(), Mode::RUSR | Mode::WUSR)?;
        let (address, _directory) = address(path)?;
        match bind(&socket, &address) {
            Err(rustix::io::Errno::ADDRINUSE) if is_abandoned(path) => {
                std::fs::remove_file(path)?;
                bind(&socket, &address)?;
            }
            Err(rustix::io::Errno::ADDRINUSE) if is_socket(path) => {
                return Err(io::Error::new(io::ErrorKind::AddrInUse, "another server listens on this socket"));
            }
            Err(rustix::io::Errno::ADDRINUSE) => {
                return Err(io::Error::new(io::ErrorKind::AddrInUse, "there is a file of another kind at this path"));
            }
            bound => bound?,
        }
        listen(&socket, BACKLOG)?;
        let metadata = std::fs::symlink_metadata(path)?;
        let own = Self { path: path.to_owned(), identity: (metadata.dev(), metadata.ino()) };
        Ok((UnixListener::from(socket), own))
    }
}

impl PrivateSocket {
    /// Connects to a socket at this path.
    pub fn connect(path: &Path) -> io::Result<UnixStream> {
        let (address, _directory) = address(path)?;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        connect(&socket, &address)?;
        Ok(UnixStream::from(socket))
    }

    /// Removes the socket at this path if its server is dead.
    pub fn remove_abandoned(path: &Path) {
        if is_abandoned(path) {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Makes a directory for the user alone. One that others can write, or that belongs to somebody else, is refused.
pub fn make_private(directory: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let found = std::fs::metadata(directory)?;
    if found.uid() != rustix::process::geteuid().as_raw() || found.mode() & 0o022 != 0 {
        return Err(io::Error::other("other users can write this directory"));
    }
    Ok(())
}

/// The address of a path. The kernel takes about a hundred bytes; a longer path is reached through its open directory,
/// which must stay open while the address is used.
fn address(path: &Path) -> io::Result<(SocketAddrUnix, Option<File>)> {
    match (SocketAddrUnix::new(path), path.parent(), path.file_name()) {
        (Err(rustix::io::Errno::NAMETOOLONG), Some(directory), Some(name)) => {
            let directory = File::open(directory)?;
            let short = format!("/proc/self/fd/{}/{}", directory.as_raw_fd(), name.to_string_lossy());
            Ok((SocketAddrUnix::new(short)?, Some(directory)))
        }
        (address, ..) => Ok((address?, None)),
    }
}

impl Drop for PrivateSocket {
    fn drop(&mut self) {
        let current = std::fs::symlink_metadata(&self.path).map(|metadata| (metadata.dev(), metadata.ino()));
        if current.is_ok_and(|current| current == self.identity) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn is_socket(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket())
}

/// Whether a socket is there on which nobody listens.
fn is_abandoned(path: &Path) -> bool {
    is_socket(path) && PrivateSocket::connect(path).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_owner_can_connect_and_a_dead_servers_socket_is_replaced() {
        let world = tempfile::tempdir().unwrap();
        let path = world.path().join("socket");
        let (listener, own) = PrivateSocket::listen(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert!(PrivateSocket::listen(&path).is_err(), "it is in use");
        std::mem::forget(own);
        drop(listener);
        let (_listener, own) = PrivateSocket::listen(&path).unwrap();
        drop(own);
        assert!(!path.exists());
        let deep = world.path().join("d".repeat(90)).join("e".repeat(90));
        make_private(&deep).unwrap();
        let (_listener, _own) = PrivateSocket::listen(&deep.join("socket")).unwrap();
        PrivateSocket::connect(&deep.join("socket")).unwrap();
        std::fs::write(&path, "a file").unwrap();
        assert!(PrivateSocket::listen(&path).is_err());
        assert!(path.exists());
    }
}
