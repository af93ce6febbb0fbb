//! Streamable HTTP for many clients at once, in both lifecycles.
//!
//! 1. [`connections`](super::connections) accepts connections, within limits and not from our own sessions.
//! 2. [`origin`] refuses requests from web pages, [`auth`] requests without a token.
//! 3. [`mcp_endpoint`] parses the message, responds to one that cannot be parsed, and hands the others to the SDK together
//!    with the [sessions](super::own_sessions) of the principal who sent it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::header;
use axum::middleware::from_fn_with_state;
use axum::response::IntoResponse;
use axum::routing::{any, get};
use tokio_util::sync::CancellationToken;

use super::auth;
use super::backend::Backend;
use super::connections::Connections;
use super::in_flight::{self, InFlight};
use super::listener::Listener;
use super::mcp::Handler;
use super::mcp_endpoint::{self, McpEndpoint};
use super::origin::{self, AllowedCallers};
use super::protocol_sessions::ProtocolSessions;
use super::share::Share;
use super::signals::Signals;
use crate::base::random;
use crate::config::{HttpSettings, Listen};
use crate::console::Console;
use crate::server::{Clients, Server};

/// A server that listens, but does not serve yet.
pub struct Http {
    listener: Listener,
    settings: HttpSettings,
    generated_token: Option<String>,
    /// The console, which has a login of its own.
    console: Router,
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("{0} can be reached from other machines, so it needs a token: give --token-file or --token")]
    TokenNeeded(Listen),
    #[error("--no-auth is accepted on a loopback address only, not on {0}")]
    AuthNeeded(Listen),
    #[error("--no-auth and a token contradict each other; give one of them")]
    Contradiction,
    #[error("failed to listen on {address}: {error}")]
    Listen { address: Listen, error: io::Error },
}

/// After all clients have ended, the last responses get this long to reach them.
const FLUSH_WITHIN: Duration = Duration::from_secs(1);

impl Http {
    pub async fn bind(mut settings: HttpSettings) -> Result<Self, StartError> {
        let generated_token = needed_token(&settings)?;
        if let Some(token) = &generated_token {
            settings.tokens.add("generated", token).expect("it is the only token");
        }
        let listening = |error| StartError::Listen { address: settings.listen.clone(), error };
        let listener = Listener::bind(&settings.listen).await.map_err(listening)?;
        settings.listen = listener.address(&settings.listen).map_err(listening)?;
        if let Listen::Tcp(address) = &settings.listen {
            crate::network::never_reach_port(address.port());
        }
        Ok(Self { listener, settings, generated_token, console: Router::new() })
    }

    /// The listening address, with the port that the system chose.
    pub fn address(&self) -> &Listen {
        &self.settings.listen
    }

    pub fn generated_token(&self) -> Option<&str> {
        self.generated_token.as_deref()
    }

    /// Serves the tools of this server.
    pub async fn serve_tools(mut self, server: Arc<Server>, signals: Signals) -> io::Result<()> {
        let port = match self.address() {
            Listen::Tcp(address) => address.port(),
            Listen::Unix(_) => 0,
        };
        self.console = Console::of_server(server.clone(), self.settings.tokens.clone(), port).router();
        let result = self.serve(server.clients().clone(), signals, Handler::new(server.clone())).await;
        server.shut_down().await;
        result
    }

    /// Serves until a signal asks for a shutdown, or until no client has been heard of for the time of the lease.
    pub async fn serve<H: Backend>(self, clients: Arc<Clients>, mut signals: Signals, handler: H) -> io::Result<()> {
        let closing = CancellationToken::new();
        let HttpSettings {
            max_sessions, max_connections, reconnect_grace, idle_timeout, shutdown_grace, lease, ..
        } = self.settings;
        let share = |most: usize| Share { most: most.max(1), principals: self.settings.tokens.len() };
        let connections = Connections::new(share(max_connections), closing.clone());
        let sessions = ProtocolSessions::new(clients.clone(), share(max_sessions), reconnect_grace, closing.clone());
        let endpoint = McpEndpoint {
            sessions: sessions.clone(),
            handler: handler.clone(),
            largest_body: usize::try_from(self.settings.max_body).unwrap_or(usize::MAX),
        };
        let in_flight = InFlight::new();
        let accepting =
            connections.accept(self.listener, router(&self.settings, endpoint, in_flight.clone(), self.console));
        let sweeping = async {
            match idle_timeout {
                Duration::ZERO => std::future::pending().await,
                limit => sessions.sweep(limit).await,
            }
        };
        let lease_over = async {
            match lease {
                Duration::ZERO => std::future::pending().await,
                lease => in_flight.silent_for(lease).await,
            }
        };
        let shutdown_grace = tokio::select! {
            () = accepting => shutdown_grace,
            () = sweeping => shutdown_grace,
            () = signals.next() => shutdown_grace,
            () = lease_over => {
                tracing::warn!(?lease, "no client was heard of for the time of the lease");
                Duration::ZERO
            }
        };
        tracing::info!(grace = ?shutdown_grace, "shutting down; running calls may finish");
        closing.cancel();
        tokio::select! {
            () = async { in_flight.finished().await; handler.calls_finished().await } => {}
            () = tokio::time::sleep(shutdown_grace) => {}
            // A second signal ends the wait.
            () = signals.next() => {}
        }
        clients.end_all().await;
        let _ = tokio::time::timeout(FLUSH_WITHIN, connections.finished()).await;
        Ok(())
    }
}

/// A new token, if one is needed and none was given.
fn needed_token(settings: &HttpSettings) -> Result<Option<String>, StartError> {
    let local = settings.listen.is_local();
    match (settings.no_auth, settings.tokens.is_empty()) {
        (true, false) => Err(StartError::Contradiction),
        (true, true) if !local => Err(StartError::AuthNeeded(settings.listen.clone())),
        (false, true) if !local => Err(StartError::TokenNeeded(settings.listen.clone())),
        (true, true) | (false, false) => Ok(None),
        (false, true) => Ok(Some(random::hex::<32>())),
    }
}

/// A request passes the layers from the last one to the first.
fn router<H: Backend>(
    settings: &HttpSettings,
    endpoint: McpEndpoint<H>,
    in_flight: InFlight,
    console: Router,
) -> Router {
    let callers = AllowedCallers::new(&settings.listen, &settings.allowed_hosts, &settings.allowed_origins);
    Router::new()
        .route("/status", get(status::<H>).with_state(endpoint.handler.clone()))
        .route("/mcp", any(mcp_endpoint::handle::<H>).with_state(endpoint))
        .layer(from_fn_with_state(in_flight, in_flight::track))
        .layer(from_fn_with_state(Arc::new(settings.tokens.clone()), auth::check))
        .merge(console)
        .layer(from_fn_with_state(Arc::new(callers), origin::check))
        .route("/health", get(health))
}

/// For a gateway, behind the token.
async fn status<H: Backend>(State(handler): State<H>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], handler.status().to_string())
}

/// Liveness probe. Reveals nothing about the server.
async fn health() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], r#"{"status":"ok"}"#)
}
