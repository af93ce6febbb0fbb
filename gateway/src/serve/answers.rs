//! HTTP answers of the gateway itself.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::header::{HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::{Value, json};

use super::admission::AdmitError;
use crate::failure;
use crate::message::Envelope;

pub type Body = UnsyncBoxBody<Bytes, Infallible>;

pub fn json(status: StatusCode, body: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Full::new(body.into()).boxed_unsync());
    *response.status_mut() = status;
    set(&mut response, "content-type", "application/json");
    response
}

pub fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Full::default().boxed_unsync());
    *response.status_mut() = status;
    response
}

pub fn set(response: &mut Response<Body>, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(HeaderName::from_static(name), value);
    }
}

pub fn refusal(status: StatusCode, reason: &str) -> Response<Body> {
    json(status, json!({ "error": reason }).to_string())
}

/// As a message of the protocol, so that a client knows which request was refused.
pub fn refused_message(status: StatusCode, envelope: &Envelope, code: i32, reason: &str) -> Response<Body> {
    json(status, failure::error(&envelope.id.clone().unwrap_or(Value::Null), code, reason))
}

/// No place was made.
pub fn not_made(envelope: &Envelope, error: &AdmitError) -> Response<Body> {
    match error {
        AdmitError::Refused(refused) => {
            let text = format!("{refused}; try again in {} s", refused.retry_after.as_secs());
            let mut response = refused_message(StatusCode::TOO_MANY_REQUESTS, envelope, -32000, &text);
            set(&mut response, "retry-after", &whole_seconds(refused.retry_after).to_string());
            response
        }
        AdmitError::Place(error) => {
            refused_message(StatusCode::BAD_GATEWAY, envelope, -32000, &format!("no place was made: {error}"))
        }
    }
}

fn whole_seconds(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}
