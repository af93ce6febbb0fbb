//! The files of the session's own Unix sockets. Where commands may not use the network freely, they may not use it through a
//! program outside either, and such a program may listen on a socket in the project.
//!
//! A note is taken when a process of the session calls `listen`; then the kernel listens as ever. No process of a session
//! can get hold of a socket of a program outside, so whatever socket it puts in the place of the one that we have looked at
//! is the session's, too.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::net::sockopt::{socket_acceptconn, socket_domain, socket_peercred, socket_type};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept, connect, listen, socket_with, socketpair,
};

use super::caller::Caller;
use super::listener::Notification;
use super::view::{Base, Found, LastLink, View};

#[derive(Default)]
pub struct OwnSockets(Vec<Own>);

/// While the file is open, the kernel gives its number to no other file.
struct Own {
    number: (u64, u64),
    file: Found,
}

/// Each costs a descriptor. A session that listens on more sockets at once cannot reach the others.
const MOST: usize = 512;

impl OwnSockets {
    /// Remembers the file of the socket that the caller wants to listen on, if it has one.
    pub fn note(&mut self, view: &View, caller: &Caller, call: &Notification) -> io::Result<()> {
        let socket = caller.descriptor(call.number_at(0))?;
        if socket_domain(&socket)? != AddressFamily::UNIX {
            return Ok(());
        }
        let file = match bound_file(&socket) {
            Err(Errno::PERM) => file_of_that_name(&socket, view, caller)?,
            file => Found::new(file?)?,
        };
        if self.contain(&file) {
            return Ok(());
        }
        if self.0.len() >= MOST {
            self.0.retain(|own| listens(&own.file, SocketType::STREAM) != Err(Errno::CONNREFUSED));
        }
        if self.0.len() < MOST {
            self.0.push(Own { number: number(&file)?, file });
        }
        Ok(())
    }

    pub fn contain(&self, file: &Found) -> bool {
        number(file).is_ok_and(|number| self.0.iter().any(|own| own.number == number))
    }
}

fn number(file: &Found) -> io::Result<(u64, u64)> {
    let stat = file.stat()?;
    Ok((stat.st_dev, stat.st_ino))
}

/// Fails as a connection to this file would if nobody listened there. The program that listens notices nothing: a
/// socket that is connected already cannot be connected again, and the kernel looks at the other end first.
pub fn listens(file: &Found, kind: SocketType) -> Result<(), Errno> {
    let (connected, _other) = socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)?;
    match connect(&connected, &SocketAddrUnix::new(file.stable_path())?) {
        Err(Errno::ISCONN | Errno::AGAIN) => Ok(()),
        Err(error) => Err(error),
        // The kernel does not do that.
        Ok(()) => Err(Errno::INVAL),
    }
}

/// The file that a socket is bound to. Only the owner of the network may ask: at level `full` we own the session's.
fn bound_file(socket: &OwnedFd) -> Result<OwnedFd, Errno> {
    const SIOCUNIXFILE: libc::Ioctl = 0x89e0;
    // SAFETY: this request takes no argument.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCUNIXFILE, 0) };
    if result < 0 {
        return Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO));
    }
    // SAFETY: the kernel has just opened it for us.
    Ok(unsafe { OwnedFd::from_raw_fd(result) })
}

/// The file at the name that the socket was bound to, if a connection to that file arrives at the socket. The name alone shows
/// nothing: a command may have moved another program's socket there.
fn file_of_that_name(socket: &OwnedFd, view: &View, caller: &Caller) -> io::Result<Found> {
    use std::os::unix::ffi::OsStrExt;
    // Other programs may use a socket that listens already, and it was looked at before.
    if socket_acceptconn(socket)? {
        return Err(io::ErrorKind::NotFound.into());
    }
    let address = SocketAddrUnix::try_from(rustix::net::getsockname(socket)?)?;
    let name = address.path_bytes().ok_or(io::ErrorKind::NotFound)?;
    let path = Path::new(std::ffi::OsStr::from_bytes(name));
    let file = view.open(caller, Base::WorkingDirectory, path, LastLink::Follow)?;
    let kind = socket_type(socket)?;
    if listens(&file, kind) != Err(Errno::CONNREFUSED) {
        return Err(io::ErrorKind::NotFound.into());
    }
    let probe = socket_with(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)?;
    listen(socket, 1)?;
    connect(&probe, &SocketAddrUnix::new(file.stable_path())?)?;
    let flags = fcntl_getfl(socket)?;
    fcntl_setfl(socket, flags | OFlags::NONBLOCK)?;
    // What others have connected in this moment is lost to them, as if they had come a moment before.
    let arrived = std::iter::from_fn(|| accept(socket).ok())
        .any(|accepted| socket_peercred(&accepted).is_ok_and(|peer| peer.pid == rustix::process::getpid()));
    fcntl_setfl(socket, flags)?;
    if arrived { Ok(file) } else { Err(io::ErrorKind::NotFound.into()) }
}
