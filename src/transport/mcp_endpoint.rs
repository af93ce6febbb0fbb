//! The route `/mcp`. Checks what the SDK does not check, then hands the request to the SDK's service together with the
//! sessions of the principal who sent it.

use std::sync::Arc;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use http_body_util::Full;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, JsonRpcMessage, RequestId};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};

use super::auth::Principal;
use super::backend::Backend;
use super::call_id;
use super::client_message;
use super::message_error::MessageError;
use super::own_sessions::OwnSessions;
use super::protocol_sessions::{ProtocolSessions, SessionError};
use super::request_body;

const SESSION_HEADER: &str = "mcp-session-id";
const VERSION_HEADER: &str = "mcp-protocol-version";
/// From this version on, a stream begins with an empty event, so that the client can reconnect. Clients of older versions
/// parse every event as a message and fail at it.
const FIRST_VERSION_WITH_EMPTY_EVENT: &str = "2025-11-25";

#[derive(Clone)]
pub struct McpEndpoint<H> {
    pub sessions: Arc<ProtocolSessions>,
    pub handler: H,
    pub largest_body: usize,
}

pub async fn handle<H: Backend>(
    State(endpoint): State<McpEndpoint<H>>,
    Extension(principal): Extension<Principal>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let mut version = parts.headers.get(VERSION_HEADER).and_then(|value| value.to_str().ok()).unwrap_or("").to_owned();
    let read = match parts.method {
        Method::POST => read(&endpoint, &principal, &parts.headers, body, &mut version).await,
        _ => Ok(Bytes::new()),
    };
    // Listening clients get no empty first event: its id would be that of the first message.
    let primes = version.as_str() >= FIRST_VERSION_WITH_EMPTY_EVENT && parts.method == Method::POST;
    let own = OwnSessions::new(endpoint.sessions.clone(), principal.clone(), primes);
    let checked = match parts.method {
        // The SDK would accept the deletion of a session that does not exist.
        Method::DELETE if names_unknown_session(&own, &parts.headers) => {
            Err((StatusCode::NOT_FOUND, "Not Found: Session not found").into_response())
        }
        _ => read,
    };
    let body = match checked {
        Ok(bytes) => Full::new(bytes),
        Err(response) => return response,
    };
    // A service is cheap to make. One per request lets the SDK see the sessions of this principal only.
    let handler = endpoint.handler;
    let service = StreamableHttpService::new(move || Ok(handler.clone()), Arc::new(own), config(primes));
    let is_delete = parts.method == Method::DELETE;
    let mut response = service.handle(Request::from_parts(parts, body)).await.map(Body::new);
    // The SDK responds "accepted" although the session has ended already. Some clients take "accepted" for a failure.
    if is_delete && response.status() == StatusCode::ACCEPTED {
        *response.status_mut() = StatusCode::NO_CONTENT;
    }
    response
}

/// The SDK's own checks are off: Host, Origin and the size of the body have been checked before.
fn config(primes: bool) -> StreamableHttpServerConfig {
    let config = StreamableHttpServerConfig::default();
    let retry = config.sse_retry.filter(|_| primes);
    config
        .with_sse_retry(retry)
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_max_request_body_bytes(usize::MAX)
}

/// Reads and parses the body. The parsed message is dropped and the SDK parses the same bytes again, because its service
/// takes a whole HTTP request and has no entry for a message. Parsing first lets us send a protocol error with the
/// request's id where the SDK would send plain text. `version` becomes the one that an `initialize` asks for.
async fn read<H: Backend>(
    endpoint: &McpEndpoint<H>,
    principal: &Principal,
    headers: &HeaderMap,
    body: Body,
    version: &mut String,
) -> Result<Bytes, Response> {
    let bytes = request_body::read(body, endpoint.largest_body).await?;
    let bad_request = |error: MessageError| error.into_response(StatusCode::BAD_REQUEST);
    let message = client_message::parse(&bytes).map_err(bad_request)?;
    call_id::check(&message, headers).map_err(bad_request)?;
    if let Some(id) = call_id::cancelled_by(&message, headers) {
        endpoint.handler.cancel_call(&principal.0, id);
    }
    let Some((request, asked)) = initialize(&message) else { return Ok(bytes) };
    asked.clone_into(version);
    let Err(refusal) = endpoint.sessions.check_room(principal) else { return Ok(bytes) };
    let status = match refusal {
        SessionError::ShareTaken(_) => StatusCode::TOO_MANY_REQUESTS,
        _ => StatusCode::SERVICE_UNAVAILABLE,
    };
    Err(MessageError::too_many_sessions(request, refusal.to_string()).into_response(status))
}

/// The id of a request that begins a protocol session, and the version that the client asks for.
fn initialize(message: &ClientJsonRpcMessage) -> Option<(&RequestId, &str)> {
    let JsonRpcMessage::Request(request) = message else { return None };
    let ClientRequest::InitializeRequest(initialize) = &request.request else { return None };
    Some((&request.id, initialize.params.protocol_version.as_str()))
}

fn names_unknown_session(own: &OwnSessions, headers: &HeaderMap) -> bool {
    headers.get(SESSION_HEADER).is_some_and(|id| !id.to_str().is_ok_and(|id| own.client(id).is_some()))
}
