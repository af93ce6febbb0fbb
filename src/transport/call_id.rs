//! The id that a caller chooses for a call, so that it can repeat the call without running it twice. It travels in the
//! metadata of the call. Over HTTP it may also travel in a header, which a proxy can read without parsing the message.

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName};
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, Extensions, GetExtensions, GetMeta, JsonObject,
    JsonRpcMessage,
};
use serde_json::Value;

use super::message_error::MessageError;
use super::single_header::single_header;
use crate::records::{BadCallId, CallId};

const KEY: &str = "testudo/callId";
/// Asks what is known of the call. Nothing is run, and nothing is waited for.
const PEEK: &str = "testudo/peek";
const HEADER: HeaderName = HeaderName::from_static("testudo-call-id");

/// The id of a call, from its metadata or from the header of its request.
pub fn of_call(meta: &JsonObject, extensions: &Extensions) -> Result<Option<CallId>, BadCallId> {
    let header = || extensions.get::<Parts>().and_then(|parts| single_header(&parts.headers, &HEADER));
    match in_meta(meta)? {
        None => header().map(CallId::parse).transpose(),
        id => Ok(id),
    }
}

pub fn is_peek(meta: &JsonObject) -> bool {
    meta.get(PEEK) == Some(&Value::Bool(true))
}

/// Whether the message is a call that has an id.
pub fn has_one(message: &ClientJsonRpcMessage) -> bool {
    let JsonRpcMessage::Request(request) = message else { return false };
    let request = &request.request;
    matches!(request, ClientRequest::CallToolRequest(_))
        && of_call(request.get_meta(), request.extensions()).is_ok_and(|id| id.is_some())
}

/// Refuses a call whose header differs from its metadata: a proxy and this server would take it for two different calls.
pub fn check(message: &ClientJsonRpcMessage, headers: &HeaderMap) -> Result<(), MessageError> {
    if !headers.contains_key(&HEADER) {
        return Ok(());
    }
    let JsonRpcMessage::Request(request) = message else { return Ok(()) };
    if !matches!(&request.request, ClientRequest::CallToolRequest(_)) {
        return Ok(());
    }
    let refused = |reason: String| MessageError::bad_call_id(&request.id, &reason);
    let Some(header) = single_header(headers, &HEADER) else {
        return Err(refused("the header Testudo-Call-Id must occur once".to_owned()));
    };
    CallId::parse(header).map_err(|error| refused(error.to_string()))?;
    match request.request.get_meta().get(KEY) {
        Some(id) if id != header => Err(refused(format!(
            "the header Testudo-Call-Id is {header:?} and _meta {KEY:?} is {id}; they must be the same"
        ))),
        _ => Ok(()),
    }
}

/// The call that a notification cancels by its id. Without protocol sessions there is no other way to name it.
pub fn cancelled_by(message: &ClientJsonRpcMessage, headers: &HeaderMap) -> Option<CallId> {
    let JsonRpcMessage::Notification(note) = message else { return None };
    let ClientNotification::CancelledNotification(cancel) = &note.notification else { return None };
    let meta = cancel.params.meta.as_ref().unwrap_or_else(|| note.notification.get_meta());
    in_meta(meta).ok().flatten().or_else(|| CallId::parse(single_header(headers, &HEADER)?).ok())
}

pub fn in_meta(meta: &JsonObject) -> Result<Option<CallId>, BadCallId> {
    match meta.get(KEY) {
        None => Ok(None),
        Some(Value::String(id)) => CallId::parse(id).map(Some),
        Some(_) => Err(BadCallId),
    }
}
