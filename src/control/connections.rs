//! Takes connections and speaks HTTP on them: on the private socket of a server, and on the port of the console.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::unix::UCred;
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::Semaphore;

use crate::base::worker_threads;

/// How long the head of a request may take.
const HEAD_WITHIN: Duration = Duration::from_secs(30);
const MOST_CONNECTIONS: usize = 64;
/// So many refused connections are told why at a time. Others are just closed.
const MOST_REFUSALS: usize = 16;
/// How long a refused client may take to read the refusal, and how much of its request we read meanwhile.
const REFUSED_WITHIN: Duration = Duration::from_secs(1);
const MOST_REFUSED_BYTES: u64 = 64 * 1024;

/// Where connections come from.
pub trait Accepts {
    type Stream: AsyncRead + AsyncWrite + Send + Unpin + 'static;
    /// By what the other side is known.
    type Peer: Send + 'static;

    fn poll_accept(&self, context: &mut Context<'_>) -> Poll<io::Result<Self::Stream>>;
    fn peer(stream: &Self::Stream) -> io::Result<Self::Peer>;
}

impl Accepts for UnixListener {
    type Stream = UnixStream;
    type Peer = UCred;

    fn poll_accept(&self, context: &mut Context<'_>) -> Poll<io::Result<UnixStream>> {
        UnixListener::poll_accept(self, context).map_ok(|(stream, _)| stream)
    }

    fn peer(stream: &UnixStream) -> io::Result<UCred> {
        stream.peer_cred()
    }
}

impl Accepts for TcpListener {
    type Stream = TcpStream;
    /// The address of our own end, and that of the other.
    type Peer = (SocketAddr, SocketAddr);

    fn poll_accept(&self, context: &mut Context<'_>) -> Poll<io::Result<TcpStream>> {
        TcpListener::poll_accept(self, context).map_ok(|(stream, _)| stream)
    }

    fn peer(stream: &TcpStream) -> io::Result<Self::Peer> {
        stream.set_nodelay(true)?;
        Ok((stream.local_addr()?, stream.peer_addr()?))
    }
}

/// Serves every connection whose peer is admitted. The router is made when one comes: most servers have none. `admit` may look at `/proc`: it runs on a thread that may block. Its
/// error is told to the other side. A refused connection takes no place from the others.
pub async fn serve<L: Accepts>(
    listener: L,
    router: impl Fn() -> Router,
    admit: impl Fn(L::Peer) -> Result<(), &'static str> + Clone + Send + 'static,
) {
    let (places, refusals) = (Arc::new(Semaphore::new(MOST_CONNECTIONS)), Arc::new(Semaphore::new(MOST_REFUSALS)));
    loop {
        let Ok(place) = places.clone().acquire_owned().await else { return };
        // For example, no descriptor is free. Other connections may free one.
        let Ok(stream) = poll_fn(|context| listener.poll_accept(context)).await else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let (router, admit, refusals) = (router(), admit.clone(), refusals.clone());
        tokio::spawn(async move {
            let Ok(peer) = L::peer(&stream) else { return };
            match worker_threads::run(move || admit(peer)).await {
                Ok(Ok(())) => talk(stream, router).await,
                Ok(Err(reason)) => {
                    drop(place);
                    if let Ok(_turn) = refusals.try_acquire() {
                        refuse(stream, "403 Forbidden", reason).await;
                    }
                }
                Err(_panicked) => {}
            }
        });
    }
}

async fn talk<S: AsyncRead + AsyncWrite + Send + Unpin + 'static>(stream: S, router: Router) {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WITHIN)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a connection failed");
    }
}

/// Answers before there is a request, and closes. The request is read away: otherwise the other side would lose the answer
/// together with the connection.
pub async fn refuse<S: AsyncRead + AsyncWrite + Unpin>(mut stream: S, status: &str, reason: &str) {
    let length = reason.len() + 1;
    let response = format!(
        "HTTP/1.1 {status}\r\nretry-after: 1\r\nconnection: close\r\ncontent-type: text/plain\r\n\
         content-length: {length}\r\n\r\n{reason}\n"
    );
    let sending = async {
        stream.write_all(response.as_bytes()).await?;
        stream.shutdown().await?;
        tokio::io::copy(&mut stream.take(MOST_REFUSED_BYTES), &mut tokio::io::sink()).await
    };
    let _ = tokio::time::timeout(REFUSED_WITHIN, sending).await;
}
