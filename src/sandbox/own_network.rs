//! The network of a session that has a network namespace: nothing but a loopback interface. The server, which is outside,
//! reaches into it by descriptors that the keeper makes inside.

use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::net::netlink::SOCK_DIAG;
use rustix::net::sockopt::set_socket_reuseaddr;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, listen, socket, socket_with};

use super::{Network, Profile};

/// Connections that wait for the proxy. More than any session should have at once.
const BACKLOG: i32 = 4096;

/// Brings up the loopback interface. Returns what the server gets: [`views`], and the listening socket of the proxy if there is
/// to be one.
pub fn open(profile: &Profile) -> io::Result<Vec<OwnedFd>> {
    raise_loopback()?;
    let mut all = views()?;
    if profile.network == Network::Hosts {
        all.push(listener(profile.proxy)?);
    }
    Ok(all)
}

/// By which the sockets of this network can be listed, wherever they are taken: a netlink socket, and two tables of TCP
/// sockets, for both versions of IP.
pub fn views() -> io::Result<Vec<OwnedFd>> {
    let first: OwnedFd = File::open("/proc/self/net/tcp")?.into();
    // There is no second one where IP version 6 is switched off.
    let second = File::open("/proc/self/net/tcp6").map_or_else(|_| first.try_clone(), |table| Ok(table.into()))?;
    let netlink = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, Some(SOCK_DIAG));
    // Where the kernel gives no netlink socket, a table stands in its place, and the server reads the tables.
    Ok(vec![netlink.map_or_else(|_| first.try_clone(), Ok)?, first, second])
}

fn listener(port: u16) -> io::Result<OwnedFd> {
    let listener = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    set_socket_reuseaddr(&listener, true)?;
    bind(&listener, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, port))?;
    listen(&listener, BACKLOG)?;
    Ok(listener)
}

/// An unconnected socket. It connects in the network in which it was made, whichever process connects it.
pub fn make_socket() -> io::Result<OwnedFd> {
    let make = |family| socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None);
    // One of version 6 can connect to addresses of version 4, too.
    Ok(make(AddressFamily::INET6).or_else(|_| make(AddressFamily::INET))?)
}

/// Brings up the loopback interface, which is down in a new network namespace.
fn raise_loopback() -> io::Result<()> {
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    // SAFETY: ifreq is plain data, valid when zeroed.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_name[0] = b'l'.cast_signed();
    request.ifr_name[1] = b'o'.cast_signed();
    #[expect(clippy::cast_possible_truncation, reason = "the flag is a small constant of a short field")]
    let up = libc::IFF_UP as libc::c_short;
    request.ifr_ifru.ifru_flags = up;
    // SAFETY: the request is a whole ifreq that lives across the call.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
