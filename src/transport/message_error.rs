use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use rmcp::model::{ErrorData, JsonRpcError, RequestId};
use serde_json::error::Category;

use super::envelope::Envelope;

/// Why a message is refused before the SDK sees it.
#[derive(Debug)]
pub struct MessageError {
    /// The id of the refused request, if it could be found.
    pub id: Option<RequestId>,
    pub error: ErrorData,
    /// Whether the sender waits for a response. It does not wait after a notification. A response is never responded to,
    /// because two peers that misunderstand each other would go on forever.
    pub expects_response: bool,
}

impl MessageError {
    /// For a message of which only the envelope was kept.
    pub fn too_long(envelope: &Envelope, length: usize, limit: usize) -> Self {
        let text = format!("Invalid request: the message is {length} bytes long, the limit is {limit} bytes");
        Self {
            id: envelope.id(),
            error: ErrorData::invalid_request(text, None),
            expects_response: envelope.has_id() || !envelope.has_method(),
        }
    }

    pub fn too_many_values(envelope: &Envelope, most: usize) -> Self {
        let text = format!("Invalid request: the message has more than {most} values");
        Self {
            id: envelope.id(),
            error: ErrorData::invalid_request(text, None),
            expects_response: envelope.has_id() || !envelope.has_method(),
        }
    }

    /// For the id of a request that is still running. The client could not tell two responses with one id apart.
    pub fn duplicate(id: &RequestId) -> Self {
        let text = format!("Invalid request: the id {id} belongs to another request of this session");
        Self { id: Some(id.clone()), error: ErrorData::invalid_request(text, None), expects_response: true }
    }

    /// For a valid `initialize` that exceeds the operator's limit.
    pub fn too_many_sessions(id: &RequestId, reason: String) -> Self {
        Self { id: Some(id.clone()), error: ErrorData::internal_error(reason, None), expects_response: true }
    }

    pub fn bad_call_id(id: &RequestId, reason: &str) -> Self {
        let text = format!("Invalid request: {reason}");
        Self { id: Some(id.clone()), error: ErrorData::invalid_request(text, None), expects_response: true }
    }

    pub fn unusable_id() -> Self {
        let text = "Invalid request: the id must be a string or an integer";
        Self { id: None, error: ErrorData::invalid_request(text, None), expects_response: true }
    }

    pub fn unreadable(envelope: &Envelope, error: &serde_json::Error) -> Self {
        let error_data = match error.classify() {
            Category::Syntax | Category::Eof => ErrorData::parse_error(format!("Parse error: {error}"), None),
            Category::Data | Category::Io => {
                ErrorData::invalid_request("Invalid request: not a JSON-RPC message of this protocol", None)
            }
        };
        let is_response = envelope.has_id() && !envelope.has_method();
        let is_notification = envelope.has_method() && !envelope.has_id();
        Self { id: envelope.id(), error: error_data, expects_response: !is_response && !is_notification }
    }

    pub fn into_message(self) -> JsonRpcError {
        JsonRpcError::new(self.id, self.error)
    }

    /// Over HTTP every request gets a response, even if the message in it expects none.
    pub fn into_response(self, status: StatusCode) -> Response {
        tracing::debug!(error = %self.error.message, "a message was refused");
        let body = serde_json::to_vec(&self.into_message()).unwrap_or_default();
        (status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
    }
}
