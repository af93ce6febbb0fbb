//! A unix socket that only its owner (and root) can connect to.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, fchmod};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with};

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
        let address = SocketAddrUnix::new(path)?;
        match bind(&socket, &address) {
            Err(rustix::io::Errno::ADDRINUSE) if is_abandoned(path) => {
                std::fs::remove_file(path)?;
                bind(&socket, &address)?;
            }
            bound => bound?,
        }
        listen(&socket, BACKLOG)?;
        let metadata = std::fs::symlink_metadata(path)?;
        let own = Self { path: path.to_owned(), identity: (metadata.dev(), metadata.ino()) };
        Ok((UnixListener::from(socket), own))
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

/// Whether a socket is there on which nobody listens.
fn is_abandoned(path: &Path) -> bool {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket());
    is_socket && UnixStream::connect(path).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
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
        std::fs::write(&path, "a file").unwrap();
        assert!(PrivateSocket::listen(&path).is_err());
        assert!(path.exists());
    }
}
