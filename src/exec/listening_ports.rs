//! The TCP sockets that listen in a network, by descriptors that were made inside it.
//!
//! The kernel lists them by `sock_diag` in microseconds. `/proc/net/tcp` shows the same, but the kernel walks through the
//! connections of the whole machine for it, which takes milliseconds. It is for kernels without `sock_diag`.

use std::fs::File;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::sync::Mutex;

use rustix::net::{AddressFamily, RecvFlags, SendFlags, recv, send};

use crate::base::locks::LockExt;

#[derive(Debug)]
pub struct ListeningPorts {
    /// A netlink socket.
    diagnosis: Mutex<OwnedFd>,
    /// For both versions of IP.
    tables: [File; 2],
}

impl ListeningPorts {
    pub fn new(diagnosis: OwnedFd, tables: [OwnedFd; 2]) -> Self {
        Self { diagnosis: Mutex::new(diagnosis), tables: tables.map(File::from) }
    }

    /// Ports, and an address that reaches each. A port may come twice.
    pub fn now(&self) -> Vec<(IpAddr, u16)> {
        let diagnosis = self.diagnosis.locked();
        let asked = [AddressFamily::INET, AddressFamily::INET6].map(|family| ask(&diagnosis, family));
        let found = match asked {
            // Without IP version 6, only the first answers.
            [Some(fours), sixes] => [fours, sixes.unwrap_or_default()].concat(),
            _ => self
                .tables
                .iter()
                .flat_map(|table| read(table).lines().filter_map(in_table).collect::<Vec<_>>())
                .collect(),
        };
        found.into_iter().map(|(address, port)| (reached(address), port)).collect()
    }
}

/// An address that means all of them becomes the loopback address.
fn reached(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) if address.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(address) if address.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        address => address,
    }
}

const LISTENING: u32 = 10;
const BY_FAMILY: u16 = 20;

/// `None` if the kernel does not answer.
fn ask(diagnosis: &OwnedFd, family: AddressFamily) -> Option<Vec<(IpAddr, u16)>> {
    const DONE: u16 = 3;
    send(diagnosis, &request(family), SendFlags::empty()).ok()?;
    let mut found = Vec::new();
    let mut answer = vec![0; 32 * 1024];
    loop {
        let (count, _) = recv(diagnosis, &mut answer[..], RecvFlags::DONTWAIT).ok()?;
        let mut rest = answer.get(..count)?;
        while !rest.is_empty() {
            let length = usize::try_from(u32::from_ne_bytes(rest.get(..4)?.try_into().ok()?)).ok()?;
            match u16::from_ne_bytes(rest.get(4..6)?.try_into().ok()?) {
                BY_FAMILY => found.push(in_message(rest.get(HEADER..length)?)?),
                DONE => return Some(found),
                _ => return None,
            }
            rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        }
    }
}

const HEADER: usize = 16;

/// A header and `struct inet_diag_req_v2`: all sockets of this family that listen.
fn request(family: AddressFamily) -> Vec<u8> {
    const LENGTH: usize = 72;
    const TCP: u8 = 6;
    const REQUEST_ALL: u16 = 0x301;
    let mut bytes = Vec::with_capacity(LENGTH);
    bytes.extend(u32::try_from(LENGTH).unwrap_or_default().to_ne_bytes());
    bytes.extend([BY_FAMILY.to_ne_bytes(), REQUEST_ALL.to_ne_bytes()].concat());
    bytes.extend([0; 8]);
    bytes.extend([u8::try_from(family.as_raw()).unwrap_or_default(), TCP, 0, 0]);
    bytes.extend((1_u32 << LISTENING).to_ne_bytes());
    bytes.resize(LENGTH, 0);
    bytes
}

/// The beginning of `struct inet_diag_msg`: family, state and two other bytes, both ports, and the own address.
fn in_message(message: &[u8]) -> Option<(IpAddr, u16)> {
    let port = u16::from_be_bytes(message.get(4..6)?.try_into().ok()?);
    let address = message.get(8..24)?;
    let version_4 = u16::from(message[0]) == AddressFamily::INET.as_raw();
    let address = if version_4 {
        IpAddr::from(<[u8; 4]>::try_from(&address[..4]).ok()?)
    } else {
        IpAddr::from(<[u8; 16]>::try_from(address).ok()?)
    };
    Some((address, port))
}

/// The kernel writes the table anew for each reading from its beginning.
fn read(table: &File) -> String {
    let mut text = Vec::new();
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(count @ 1..) = table.read_at(&mut buffer, text.len() as u64) {
        text.extend_from_slice(&buffer[..count]);
    }
    String::from_utf8(text).unwrap_or_default()
}

/// The address and port of a line, if it is about a listening socket.
fn in_table(line: &str) -> Option<(IpAddr, u16)> {
    let mut fields = line.split_whitespace().skip(1);
    let (address, port) = fields.next()?.split_once(':')?;
    if u32::from_str_radix(fields.nth(1)?, 16) != Ok(LISTENING) {
        return None;
    }
    // Each word of the address is in the byte order of this machine.
    let word = |at: usize| Some(u32::from_str_radix(address.get(at..at + 8)?, 16).ok()?.to_ne_bytes());
    let address: IpAddr = if address.len() == 8 {
        Ipv4Addr::from(word(0)?).into()
    } else {
        let words = [word(0)?, word(8)?, word(16)?, word(24)?].concat();
        IpAddr::from(Ipv6Addr::from(<[u8; 16]>::try_from(words).ok()?))
    };
    Some((address, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::own_network;

    #[test]
    fn listening_sockets_are_found_both_ways() {
        for address in ["127.0.0.1:0", "0.0.0.0:0", "[::1]:0", "[::]:0"] {
            let listener = std::net::TcpListener::bind(address).unwrap();
            let port = listener.local_addr().unwrap().port();
            let views = own_network::views().unwrap();
            let without = File::open("/dev/null").unwrap().into();
            let [diagnosis, four, six] = <[OwnedFd; 3]>::try_from(views).unwrap();
            let again = [four.try_clone().unwrap(), six.try_clone().unwrap()];
            for ports in [ListeningPorts::new(diagnosis, [four, six]), ListeningPorts::new(without, again)] {
                let found = ports.now();
                let (reached, _) = *found.iter().find(|(_, found)| *found == port).unwrap();
                assert!(reached.is_loopback(), "{address} {reached}");
            }
        }
    }
}
