//! Finds the socket at the other end of a TCP connection, if it is on this machine. The kernel looks it up by its two
//! addresses (`sock_diag`). Not every kernel has that, and `/proc/net/tcp` shows the same, though more slowly.

use std::fmt::Write;
use std::net::{IpAddr, SocketAddr};

use rustix::net::netlink::{SOCK_DIAG, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, connect, recv, send, socket_with};

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TcpSocket {
    /// 0 if no process holds it any more.
    pub inode: u64,
    pub user: u32,
    /// The control group of the process that made it.
    pub cgroup: Option<u64>,
}

/// `own` and `peer` are the addresses of our end. `None` if the peer has no socket on this machine.
pub fn find(own: SocketAddr, peer: SocketAddr) -> Option<TcpSocket> {
    let (own, peer) = (canonical(own), canonical(peer));
    if let Some(found) = look_up(peer, own) {
        return Some(found);
    }
    // If the kernel does not find our own end either, it has no answers of this kind.
    if look_up(own, peer).is_some() { None } else { in_proc(peer, own) }
}

fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

const BY_FAMILY: u16 = 20;
const REQUEST: u16 = 1;
const TCP: u8 = 6;
const LISTENING: u8 = 10;
const HEADER: usize = 16;
/// The fixed part of an answer, behind its header.
const ANSWER: usize = 72;
const CGROUP_ID: u16 = 21;

fn look_up(address: SocketAddr, connected_to: SocketAddr) -> Option<TcpSocket> {
    let flags = SocketFlags::CLOEXEC;
    let netlink = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, Some(SOCK_DIAG)).ok()?;
    connect(&netlink, &SocketAddrNetlink::new(0, 0)).ok()?;
    send(&netlink, &request(address, connected_to), SendFlags::empty()).ok()?;
    let mut answer = [0; 4096];
    let (count, _) = recv(&netlink, &mut answer[..], RecvFlags::empty()).ok()?;
    read(&answer[..count])
}

/// A header and `struct inet_diag_req_v2`.
fn request(address: SocketAddr, connected_to: SocketAddr) -> Vec<u8> {
    const LENGTH: u32 = 72;
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let mut bytes = Vec::new();
    bytes.extend(LENGTH.to_ne_bytes());
    bytes.extend([BY_FAMILY.to_ne_bytes(), REQUEST.to_ne_bytes()].concat());
    bytes.extend([0; 8]);
    bytes.extend([u8::try_from(family.as_raw()).unwrap_or_default(), TCP, 0, 0]);
    let every_state = u32::MAX;
    bytes.extend(every_state.to_ne_bytes());
    bytes.extend([address.port().to_be_bytes(), connected_to.port().to_be_bytes()].concat());
    for end in [address, connected_to] {
        let mut ip = match end.ip() {
            IpAddr::V4(ip) => ip.octets().to_vec(),
            IpAddr::V6(ip) => ip.octets().to_vec(),
        };
        ip.resize(16, 0);
        bytes.extend(ip);
    }
    let any_interface = 0_u32;
    bytes.extend(any_interface.to_ne_bytes());
    let no_cookie = [0xff; 8];
    bytes.extend(no_cookie);
    bytes
}

/// A header, `struct inet_diag_msg` and attributes. If no connection matches, the kernel answers with a listening socket or
/// an error.
fn read(answer: &[u8]) -> Option<TcpSocket> {
    let kind = u16::from_ne_bytes(answer.get(4..6)?.try_into().ok()?);
    let message = answer.get(HEADER..)?;
    if kind != BY_FAMILY || *message.get(1)? == LISTENING {
        return None;
    }
    let number = |at: usize| Some(u32::from_ne_bytes(message.get(at..at + 4)?.try_into().ok()?));
    Some(TcpSocket { user: number(64)?, inode: number(68)?.into(), cgroup: cgroup(message.get(ANSWER..)?) })
}

fn cgroup(mut attributes: &[u8]) -> Option<u64> {
    loop {
        let length = usize::from(u16::from_ne_bytes(attributes.get(..2)?.try_into().ok()?));
        let kind = u16::from_ne_bytes(attributes.get(2..4)?.try_into().ok()?);
        let value = attributes.get(4..length)?;
        if kind == CGROUP_ID {
            return Some(u64::from_ne_bytes(value.try_into().ok()?));
        }
        attributes = attributes.get(length.next_multiple_of(4)..)?;
    }
}

fn in_proc(address: SocketAddr, connected_to: SocketAddr) -> Option<TcpSocket> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| std::fs::read_to_string(path).unwrap_or_default());
    tables.iter().flat_map(|table| table.lines()).find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let is_end = |field: &str, end| field == written(end, false) || field == written(end, true);
        let matches = is_end(fields.get(1)?, address) && is_end(fields.get(2)?, connected_to);
        let socket = || {
            Some(TcpSocket { user: fields.get(7)?.parse().ok()?, inode: fields.get(9)?.parse().ok()?, cgroup: None })
        };
        if matches { socket() } else { None }
    })
}

/// An address as `/proc/net/tcp` writes it. A socket of IP version 6 can have an address of version 4, which is `mapped`.
fn written(end: SocketAddr, mapped: bool) -> String {
    let octets = match end.ip() {
        IpAddr::V4(ip) if mapped => ip.to_ipv6_mapped().octets().to_vec(),
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    let words = octets.chunks_exact(4).map(|word| u32::from_ne_bytes([word[0], word[1], word[2], word[3]]));
    let mut text = words.fold(String::new(), |mut text, word| {
        let _ = write!(text, "{word:08X}");
        text
    });
    let _ = write!(text, ":{:04X}", end.port());
    text
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn both_ways_find_the_same_socket() {
        for (listen, target) in [("127.0.0.1:0", "127.0.0.1"), ("[::1]:0", "[::1]"), ("[::]:0", "127.0.0.1")] {
            let listener = TcpListener::bind(listen).unwrap();
            let client = TcpStream::connect(format!("{target}:{}", listener.local_addr().unwrap().port())).unwrap();
            let (own, peer) = (client.peer_addr().unwrap(), client.local_addr().unwrap());
            let (asked, read) = (look_up(peer, own), in_proc(peer, own).unwrap());
            assert!(read.inode > 0);
            if let Some(asked) = asked {
                assert_eq!(TcpSocket { cgroup: None, ..asked }, read);
            }
            drop(client);
            // Another test may start a process just now, which holds every open file for a moment.
            while find(own, peer).is_some_and(|socket| socket.inode > 0) {
                std::thread::yield_now();
            }
        }
    }

    #[test]
    fn a_listening_socket_is_not_the_end_of_a_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        assert_eq!(look_up(listener.local_addr().unwrap(), "127.0.0.1:1".parse().unwrap()), None);
    }
}
