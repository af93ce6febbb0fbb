//! Where connections arrive: a TCP port or a unix socket.

use std::io;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

use crate::config::Listen;
use crate::exec::{Caller, PrivateSocket, caller};

/// A peer that vanished without closing its connection is noticed after about twice this time. Its call then ends.
const KEEP_ALIVE: Duration = Duration::from_mins(1);

pub enum Listener {
    Tcp(TcpListener),
    Unix { listener: UnixListener, _file: PrivateSocket },
}

pub enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Listener {
    pub async fn bind(listen: &Listen) -> io::Result<Self> {
        Ok(match listen {
            Listen::Tcp(address) => Self::Tcp(TcpListener::bind(address).await?),
            Listen::Unix(path) => {
                let (listener, file) = PrivateSocket::listen(path)?;
                Self::Unix { listener: UnixListener::from_std(listener)?, _file: file }
            }
        })
    }

    /// The address, with the port that the system chose. The path is as it was given.
    pub fn address(&self, given: &Listen) -> io::Result<Listen> {
        match self {
            Self::Tcp(listener) => listener.local_addr().map(Listen::Tcp),
            Self::Unix { .. } => Ok(given.clone()),
        }
    }

    pub async fn accept(&self) -> io::Result<Stream> {
        Ok(match self {
            Self::Tcp(listener) => Stream::Tcp(listener.accept().await?.0),
            Self::Unix { listener, .. } => Stream::Unix(listener.accept().await?.0),
        })
    }
}

impl Stream {
    /// The process at the other end. This looks at `/proc`, so it does not belong on a thread of the runtime.
    pub fn caller(&self) -> Caller {
        match self {
            // A connection without addresses is closed already. Nobody will read an answer.
            Self::Tcp(stream) => match (stream.local_addr(), stream.peer_addr()) {
                (Ok(own), Ok(peer)) => caller::of_tcp(own, peer),
                _ => Caller::Unknown,
            },
            Self::Unix(stream) => stream.peer_cred().map_or(Caller::Unknown, |peer| caller::of_unix(peer.pid())),
        }
    }

    pub fn prepare(&self) -> io::Result<()> {
        let Self::Tcp(stream) = self else { return Ok(()) };
        stream.set_nodelay(true)?;
        rustix::net::sockopt::set_socket_keepalive(stream, true)?;
        rustix::net::sockopt::set_tcp_keepidle(stream, KEEP_ALIVE)?;
        rustix::net::sockopt::set_tcp_keepintvl(stream, KEEP_ALIVE / 6)?;
        Ok(())
    }
}
