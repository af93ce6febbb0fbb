//! Accepts connections, but none from our own sessions. Limits keep one client from starving the others: how many
//! connections there are, how long the head of a request may take and how large it may be. On shutdown, responses may
//! finish.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::listener::{Listener, Stream};
use super::share::Share;
use super::slots::{Slot, Slots};
use crate::control::connections;
use crate::exec::Caller;

/// How long the head of a request may take. An idle connection is closed after the same time.
const HEAD_WITHIN: Duration = Duration::from_secs(30);
const LARGEST_HEAD: usize = 64 * 1024;
const MOST_HEADERS: usize = 100;
/// To find a caller costs some milliseconds on a machine with many processes. A command that connects in a loop must not
/// take every processor.
const MOST_CALLERS_AT_ONCE: usize = 4;

#[derive(Clone)]
pub struct Connections {
    slots: Arc<Slots>,
    finding_callers: Arc<Semaphore>,
    closing: CancellationToken,
}

impl Connections {
    /// `closing` stops the listener. Each connection finishes its current response and then closes.
    pub fn new(share: Share, closing: CancellationToken) -> Self {
        let finding_callers = Arc::new(Semaphore::new(MOST_CALLERS_AT_ONCE));
        Self { slots: Slots::new(share), finding_callers, closing }
    }

    pub async fn accept(&self, listener: Listener, router: Router) {
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = self.closing.cancelled() => return,
            };
            match accepted {
                Ok(stream) => self.begin(stream, router.clone()),
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
        self.slots.empty().await;
    }

    fn begin(&self, stream: Stream, router: Router) {
        let Some(slot) = self.slots.take() else {
            tracing::warn!("too many connections; a new one was refused");
            tokio::spawn(refuse(stream, "503 Service Unavailable", TOO_MANY));
            return;
        };
        let (this, lost) = (self.clone(), slot.lost.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = this.serve(stream, slot, router) => {}
                () = lost.cancelled() => tracing::debug!("a connection without a token made room for another one"),
            }
        });
    }

    async fn serve(self, stream: Stream, slot: Arc<Slot>, router: Router) {
        let Some((stream, caller)) = self.find_caller(stream).await else { return };
        if caller != Caller::Outside {
            tracing::warn!(
                ?caller,
                "a connection was refused: it comes from a command of a session, or may come from one"
            );
            let reason = if caller == Caller::Session { FROM_A_SESSION } else { FROM_NOWHERE };
            return refuse(stream, "403 Forbidden", reason).await;
        }
        if let Err(error) = stream.prepare() {
            tracing::debug!(%error, "failed to prepare a connection");
        }
        match stream {
            Stream::Tcp(stream) => self.serve_http(stream, slot, router).await,
            Stream::Unix(stream) => self.serve_http(stream, slot, router).await,
        }
    }

    async fn find_caller(&self, stream: Stream) -> Option<(Stream, Caller)> {
        let _turn = self.finding_callers.acquire().await.ok()?;
        let finding = tokio::task::spawn_blocking(move || {
            let caller = stream.caller();
            (stream, caller)
        });
        finding.await.ok()
    }

    async fn serve_http<S>(self, stream: S, slot: Arc<Slot>, router: Router)
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let router = TowerToHyperService::new(router);
        let service = service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
            request.extensions_mut().insert(slot.clone());
            router.call(request)
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_WITHIN)
            .max_buf_size(LARGEST_HEAD)
            .max_headers(MOST_HEADERS)
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = std::pin::pin!(connection);
        let result = tokio::select! {
            result = connection.as_mut() => result,
            () = self.closing.cancelled() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = result {
            tracing::debug!(%error, "a connection failed");
        }
    }
}

const TOO_MANY: &str = "there are too many connections; try again later ([http] max_connections sets the limit)";
const FROM_A_SESSION: &str = "a command of one of this server's own sessions cannot be its client";
const FROM_NOWHERE: &str = "testudo could not find out which process of this machine has connected, and it refuses connections \
                            that its own sessions may have made; let the client connect by itself, or use --listen unix:PATH";

async fn refuse(stream: Stream, status: &str, reason: &str) {
    match stream {
        Stream::Tcp(stream) => connections::refuse(stream, status, reason).await,
        Stream::Unix(stream) => connections::refuse(stream, status, reason).await,
    }
}
