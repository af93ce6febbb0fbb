//! Streamable HTTP for many clients at once, in both lifecycles.
//!
//! 1. [`connections`](super::connections) accepts, within limits.
//! 2. [`origin`] turns web pages away, [`auth`] whoever has no token.
//! 3. [`endpoint`] reads the message, answers what cannot be read, and hands the rest to the SDK, with
//!    [`sessions`](super::sessions) that belong to the principal who asks.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::header;
use axum::middleware::from_fn_with_state;
use axum::response::IntoResponse;
use axum::routing::{any, get};
use rmcp::ServerHandler;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::Settings;
use super::auth;
use super::busy::{self, Busy};
use super::connections::Connections;
use super::endpoint::{self, Endpoint};
use super::mcp::Handler;
use super::origin::{self, Callers};
use super::sessions::Sessions;
use super::signals::Signals;
use crate::server::{Clients, Server};

/// A server that listens but does not answer yet.
pub struct Http {
    listener: TcpListener,
    settings: Settings,
    generated_token: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("{0} can be reached from other machines, so it needs a token: give --token-file or --token")]
    TokenNeeded(SocketAddr),
    #[error("--no-auth is accepted on a loopback address only, not on {0}")]
    AuthNeeded(SocketAddr),
    #[error("--no-auth and a token contradict each other; give one of them")]
    Contradiction,
    #[error("failed to listen on {address}: {error}")]
    Listen { address: SocketAddr, error: io::Error },
}

/// After the grace, for what has been said to reach the client.
const LAST_WORDS: Duration = Duration::from_secs(1);

impl Http {
    pub async fn bind(mut settings: Settings) -> Result<Self, StartError> {
        let generated_token = needed_token(&settings)?;
        if let Some(token) = &generated_token {
            settings.tokens.add("generated", token).expect("there is no other");
        }
        let address = settings.listen;
        let listening = |error| StartError::Listen { address, error };
        let listener = TcpListener::bind(address).await.map_err(listening)?;
        settings.listen = listener.local_addr().map_err(listening)?;
        Ok(Self { listener, settings, generated_token })
    }

    /// With the port that was chosen.
    pub fn address(&self) -> SocketAddr {
        self.settings.listen
    }

    pub fn generated_token(&self) -> Option<&str> {
        self.generated_token.as_deref()
    }

    /// Serves the tools of this server.
    pub async fn serve_tools(self, server: Arc<Server>) -> io::Result<()> {
        server.expect_many_clients();
        // Clones of one handler: a question that one request brings home is answered by another.
        let handler = Handler::new(server.clone());
        let result = self.serve(server.clients().clone(), move || handler.clone()).await;
        server.shut_down().await;
        result
    }

    /// Serves until a signal says so; `make` makes the handler of a session, or of a single request.
    pub async fn serve<H: ServerHandler>(
        self,
        clients: Arc<Clients>,
        make: impl Fn() -> H + Send + Sync + 'static,
    ) -> io::Result<()> {
        let mut signals = Signals::listen()?;
        let closing = CancellationToken::new();
        let connections = Connections::new(self.settings.max_connections, closing.clone());
        let Settings { max_sessions, reconnect_grace, idle_timeout, shutdown_grace, .. } = self.settings;
        let sessions = Sessions::new(clients.clone(), max_sessions, reconnect_grace, closing.clone());
        let endpoint =
            Endpoint { sessions: sessions.clone(), make: Arc::new(make), largest_body: self.settings.max_body };
        let busy = Busy::new();
        let accepting = connections.accept(self.listener, router(&self.settings, endpoint, busy.clone()));
        let sweeping = async {
            match idle_timeout {
                Duration::ZERO => std::future::pending().await,
                limit => sessions.sweep(limit).await,
            }
        };
        tokio::select! {
            () = accepting => {}
            () = sweeping => {}
            () = signals.next() => {}
        }
        tracing::info!(grace = ?shutdown_grace, "ending; running calls may finish");
        closing.cancel();
        tokio::select! {
            () = busy.over() => {}
            () = tokio::time::sleep(shutdown_grace) => {}
            // Asked twice.
            () = signals.next() => {}
        }
        clients.end_all().await;
        let _ = tokio::time::timeout(LAST_WORDS, connections.finished()).await;
        Ok(())
    }
}

/// The token to make, if there is none and one is needed.
fn needed_token(settings: &Settings) -> Result<Option<String>, StartError> {
    let local = settings.listen.ip().is_loopback();
    match (settings.no_auth, settings.tokens.is_empty()) {
        (true, false) => Err(StartError::Contradiction),
        (true, true) if !local => Err(StartError::AuthNeeded(settings.listen)),
        (false, true) if !local => Err(StartError::TokenNeeded(settings.listen)),
        (true, true) | (false, false) => Ok(None),
        (false, true) => Ok(Some(crate::base::random::hex::<32>())),
    }
}

fn router<H: ServerHandler>(settings: &Settings, endpoint: Endpoint<H>, busy: Busy) -> Router {
    let callers = Callers::new(settings.listen, &settings.allowed_hosts, &settings.allowed_origins);
    Router::new()
        .route("/mcp", any(endpoint::answer::<H>).with_state(endpoint))
        .layer(from_fn_with_state(busy, busy::count))
        .layer(from_fn_with_state(Arc::new(settings.tokens.clone()), auth::check))
        .layer(from_fn_with_state(Arc::new(callers), origin::check))
        .route("/health", get(health))
}

/// For whoever watches over the server; it says nothing about it.
async fn health() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], r#"{"status":"ok"}"#)
}
