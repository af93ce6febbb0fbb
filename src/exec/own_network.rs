//! The network of a session that has one of its own, as the server reaches it: by descriptors that the keeper has made inside.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::net::{TcpSocket, TcpStream};

use super::socket::Socket;
use crate::base::locks::LockExt;
use crate::keeper::protocol::KeeperRequest;

#[derive(Debug)]
pub struct OwnNetwork {
    /// Its TCP sockets, for both versions of IP.
    tables: [std::fs::File; 2],
    /// Where the proxy listens, until somebody serves it.
    listener: Mutex<Option<OwnedFd>>,
    /// The proxy's port, which is nobody's server.
    proxy: u16,
    keeper: Arc<Socket>,
    /// Unconnected sockets that the keeper has made.
    spare: Mutex<Vec<OwnedFd>>,
}

/// How long the keeper may take to make sockets, and a server inside to accept a connection.
const WITHIN: Duration = Duration::from_secs(10);

impl OwnNetwork {
    /// `None` if the keeper has sent nothing: the session shares the host's network.
    pub fn new(descriptors: Vec<OwnedFd>, keeper: Arc<Socket>, proxy: u16) -> Option<Self> {
        let mut rest = descriptors.into_iter();
        let tables = [rest.next()?.into(), rest.next()?.into()];
        Some(Self { tables, listener: Mutex::new(rest.next()), proxy, keeper, spare: Mutex::default() })
    }

    /// Where connections to the proxy arrive. There is one only once.
    pub fn take_listener(&self) -> Option<TcpListener> {
        self.listener.locked().take().map(TcpListener::from)
    }

    /// The ports that commands listen on, and an address that reaches each.
    pub fn listening(&self) -> BTreeMap<u16, IpAddr> {
        let mut found = BTreeMap::new();
        for table in &self.tables {
            for (address, port) in read(table).lines().filter_map(listening_socket) {
                if port != self.proxy {
                    found.entry(port).or_insert(address);
                }
            }
        }
        found
    }

    /// Connects to a server inside.
    pub async fn connect(&self, address: IpAddr, port: u16) -> io::Result<TcpStream> {
        let stream = std::net::TcpStream::from(self.socket().await?);
        stream.set_nonblocking(true)?;
        let version_6 = rustix::net::sockopt::socket_domain(&stream)? == rustix::net::AddressFamily::INET6;
        let address = match address {
            IpAddr::V4(address) if version_6 => address.to_ipv6_mapped().into(),
            address => address,
        };
        let connecting = TcpSocket::from_std_stream(stream).connect(SocketAddr::new(address, port));
        tokio::time::timeout(WITHIN, connecting).await.map_err(|_| io::ErrorKind::TimedOut)?
    }

    async fn socket(&self) -> io::Result<OwnedFd> {
        if let Some(spare) = self.spare.locked().pop() {
            return Ok(spare);
        }
        let (answer, theirs) = Socket::pair()?;
        self.keeper.send(&KeeperRequest::Sockets.encode(), &[theirs.as_fd()]).await?;
        drop(theirs);
        let (_, mut sockets) = tokio::time::timeout(WITHIN, answer.receive_with_descriptors())
            .await
            .map_err(|_| io::ErrorKind::TimedOut)?;
        let one = sockets.pop().ok_or(io::ErrorKind::NotConnected)?;
        self.spare.locked().extend(sockets);
        Ok(one)
    }
}

/// The kernel writes the table anew for each reading from its beginning.
fn read(table: &std::fs::File) -> String {
    let mut text = Vec::new();
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(count @ 1..) = table.read_at(&mut buffer, text.len() as u64) {
        text.extend_from_slice(&buffer[..count]);
    }
    String::from_utf8(text).unwrap_or_default()
}

/// The address and port of a line, if it is about a listening socket. An address that means all of them becomes the loopback
/// address.
fn listening_socket(line: &str) -> Option<(IpAddr, u16)> {
    const LISTENING: &str = "0A";
    let mut fields = line.split_whitespace().skip(1);
    let (address, port) = fields.next()?.split_once(':')?;
    if fields.nth(1)? != LISTENING {
        return None;
    }
    // Each word of the address is in the byte order of this machine.
    let word = |at: usize| Some(u32::from_str_radix(address.get(at..at + 8)?, 16).ok()?.to_ne_bytes());
    let address: IpAddr = if address.len() == 8 {
        Ipv4Addr::from(word(0)?).into()
    } else {
        let words = [word(0)?, word(8)?, word(16)?, word(24)?].concat();
        IpAddr::from(Ipv6Addr::from(<[u8; 16]>::try_from(words).ok()?)).to_canonical()
    };
    let reached = match address {
        IpAddr::V4(address) if address.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(address) if address.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        address => address,
    };
    Some((reached, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listening_sockets_are_found_in_the_tables() {
        for address in ["127.0.0.1:0", "0.0.0.0:0", "[::1]:0", "[::]:0"] {
            let listener = std::net::TcpListener::bind(address).unwrap();
            let own = listener.local_addr().unwrap();
            let tables = ["/proc/self/net/tcp", "/proc/self/net/tcp6"].map(|path| std::fs::File::open(path).unwrap());
            let found: Vec<_> = tables
                .iter()
                .flat_map(|table| read(table).lines().filter_map(listening_socket).collect::<Vec<_>>())
                .collect();
            let (reached, _) = *found.iter().find(|(_, port)| *port == own.port()).unwrap();
            assert!(reached.is_loopback(), "{address} {reached}");
        }
    }
}
