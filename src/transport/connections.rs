//! Accepts connections, with limits so that one client cannot starve the others: how many connections there are, how
//! long the head of a request may take and how large it may be. On shutdown, responses may finish.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// How long the head of a request may take. An idle connection is closed after the same time.
const HEAD_WITHIN: Duration = Duration::from_secs(30);
const LARGEST_HEAD: usize = 64 * 1024;
const MOST_HEADERS: usize = 100;
/// A peer that vanished without closing its connection is noticed after about twice this time. Its call then ends.
const KEEP_ALIVE: Duration = Duration::from_mins(1);

#[derive(Clone)]
pub struct Connections {
    free: Arc<Semaphore>,
    most: u32,
    closing: CancellationToken,
}

impl Connections {
    /// `closing` stops the listener. Each connection finishes its current response and then closes.
    pub fn new(most: usize, closing: CancellationToken) -> Self {
        let most = u32::try_from(most).unwrap_or(u32::MAX).clamp(1, 1 << 20);
        Self { free: Arc::new(Semaphore::new(most as usize)), most, closing }
    }

    pub async fn accept(&self, listener: TcpListener, router: Router) {
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = self.closing.cancelled() => return,
            };
            match accepted {
                Ok((stream, _)) => self.begin(stream, router.clone()),
                Err(error) => {
                    // For example, no descriptor is free. Other connections may free one.
                    tracing::warn!(%error, "failed to accept a connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }

    /// Waits until no connection is left.
    pub async fn finished(&self) {
        let _ = self.free.acquire_many(self.most).await;
    }

    fn begin(&self, stream: TcpStream, router: Router) {
        let Ok(place) = self.free.clone().try_acquire_owned() else {
            tracing::warn!(limit = self.most, "too many connections; a new one was refused");
            tokio::spawn(refuse(stream));
            return;
        };
        let closing = self.closing.clone();
        tokio::spawn(async move {
            let _place = place;
            if let Err(error) = prepare(&stream) {
                tracing::debug!(%error, "failed to prepare a connection");
            }
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_WITHIN)
                .max_buf_size(LARGEST_HEAD)
                .max_headers(MOST_HEADERS)
                .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
            let mut connection = std::pin::pin!(connection);
            let result = tokio::select! {
                result = connection.as_mut() => result,
                () = closing.cancelled() => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            };
            if let Err(error) = result {
                tracing::debug!(%error, "a connection failed");
            }
        });
    }
}

fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    rustix::net::sockopt::set_socket_keepalive(stream, true)?;
    rustix::net::sockopt::set_tcp_keepidle(stream, KEEP_ALIVE)?;
    rustix::net::sockopt::set_tcp_keepintvl(stream, KEEP_ALIVE / 6)?;
    Ok(())
}

async fn refuse(mut stream: TcpStream) {
    let response =
        b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    let _ = tokio::time::timeout(Duration::from_secs(1), stream.write_all(response)).await;
}
