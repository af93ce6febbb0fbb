//! The network of a session that has one of its own, as the server reaches it: by descriptors that the keeper has made inside.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::net::{TcpSocket, TcpStream};

use super::listening_ports::ListeningPorts;
use super::socket::Socket;
use crate::base::locks::LockExt;
use crate::keeper::protocol::KeeperRequest;

#[derive(Debug)]
pub struct OwnNetwork {
    ports: ListeningPorts,
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
        let ports = ListeningPorts::new(rest.next()?, [rest.next()?, rest.next()?]);
        Some(Self { ports, listener: Mutex::new(rest.next()), proxy, keeper, spare: Mutex::default() })
    }

    /// Where connections to the proxy arrive. There is one only once.
    pub fn take_listener(&self) -> Option<TcpListener> {
        self.listener.locked().take().map(TcpListener::from)
    }

    /// The ports that commands listen on, and an address that reaches each.
    pub fn listening(&self) -> BTreeMap<u16, IpAddr> {
        let mut found = BTreeMap::new();
        for (address, port) in self.ports.now().into_iter().filter(|(_, port)| *port != self.proxy) {
            found.entry(port).or_insert(address);
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
