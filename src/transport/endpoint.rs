//! `/mcp`: from a request that may pass to the SDK's service, with the sessions of whoever asks.

use std::sync::Arc;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use http_body_util::Full;
use rmcp::ServerHandler;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, JsonRpcMessage};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};

use super::auth::Principal;
use super::body;
use super::message::{self, Refusal};
use super::sessions::{OwnSessions, Sessions};

pub const SESSION_HEADER: &str = "mcp-session-id";

pub struct Endpoint<H> {
    pub sessions: Arc<Sessions>,
    /// Makes the handler of a session, or of a single request where there are no sessions.
    pub make: Arc<dyn Fn() -> H + Send + Sync>,
    pub largest_body: usize,
}

impl<H> Clone for Endpoint<H> {
    fn clone(&self) -> Self {
        Self { sessions: self.sessions.clone(), make: self.make.clone(), largest_body: self.largest_body }
    }
}

pub async fn answer<H: ServerHandler>(
    State(endpoint): State<Endpoint<H>>,
    Extension(principal): Extension<Principal>,
    request: Request,
) -> Response {
    let own = endpoint.sessions.of(principal);
    let (parts, body) = request.into_parts();
    let checked = match parts.method {
        Method::POST => read(&endpoint, body).await,
        // The SDK would say yes to the deletion of anything.
        Method::DELETE if names_unknown_session(&own, &parts.headers) => {
            Err((StatusCode::NOT_FOUND, "Not Found: Session not found").into_response())
        }
        _ => Ok(Bytes::new()),
    };
    let body = match checked {
        Ok(bytes) => Full::new(bytes),
        Err(response) => return response,
    };
    // Cheap to make, and so the SDK only ever sees the sessions of this principal.
    let make = endpoint.make.clone();
    let service = StreamableHttpService::new(move || Ok(make()), Arc::new(own), config());
    let is_delete = parts.method == Method::DELETE;
    let mut response = service.handle(Request::from_parts(parts, body)).await.map(Body::new);
    // The session has ended when the SDK says "accepted", and some clients take that word for a failure.
    if is_delete && response.status() == StatusCode::ACCEPTED {
        *response.status_mut() = StatusCode::NO_CONTENT;
    }
    response
}

/// Host, Origin and the size of the body have been looked at already.
fn config() -> StreamableHttpServerConfig {
    StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_max_request_body_bytes(usize::MAX)
}

async fn read<H>(endpoint: &Endpoint<H>, body: Body) -> Result<Bytes, Response> {
    let bytes = body::read(body, endpoint.largest_body).await?;
    let message = message::read(&bytes).map_err(|refusal| body::refused(StatusCode::BAD_REQUEST, refusal))?;
    match begins_session(&message) {
        Some(request) if endpoint.sessions.is_full() => {
            Err(body::refused(StatusCode::SERVICE_UNAVAILABLE, Refusal::too_many_sessions(request)))
        }
        _ => Ok(bytes),
    }
}

fn begins_session(message: &ClientJsonRpcMessage) -> Option<&rmcp::model::RequestId> {
    match message {
        JsonRpcMessage::Request(request) if matches!(request.request, ClientRequest::InitializeRequest(_)) => {
            Some(&request.id)
        }
        _ => None,
    }
}

fn names_unknown_session(own: &OwnSessions, headers: &HeaderMap) -> bool {
    headers.get(SESSION_HEADER).is_some_and(|id| !id.to_str().is_ok_and(|id| own.client(id).is_some()))
}
