//! The body of a request, read whole before the SDK sees it: within limits of size and time, and with an answer in the
//! protocol's own form for what cannot be read.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;

use super::envelope::Envelope;
use super::message::Refusal;

/// Between two pieces.
const PIECE_WITHIN: Duration = Duration::from_secs(30);
/// A client that is still sending does not read the answer: this many times the limit is taken and thrown away first.
const PATIENCE: usize = 4;

pub async fn read(mut body: Body, limit: usize) -> Result<Bytes, Response> {
    let mut read = Vec::new();
    let mut surplus: Option<(Envelope, usize)> = None;
    loop {
        let Ok(frame) = tokio::time::timeout(PIECE_WITHIN, body.frame()).await else {
            return Err((StatusCode::REQUEST_TIMEOUT, "the rest of the request did not come\n").into_response());
        };
        let piece = match frame {
            None => break,
            Some(Ok(frame)) => frame.into_data().unwrap_or_default(),
            Some(Err(error)) => return Err((StatusCode::BAD_REQUEST, format!("{error}\n")).into_response()),
        };
        match &mut surplus {
            None if read.len() + piece.len() <= limit => read.extend_from_slice(&piece),
            None => {
                let mut envelope = Envelope::of(&read);
                envelope.feed(&piece);
                surplus = Some((envelope, read.len() + piece.len()));
                read = Vec::new();
            }
            Some((envelope, length)) => {
                envelope.feed(&piece);
                *length += piece.len();
                if *length > limit.saturating_mul(PATIENCE) {
                    break;
                }
            }
        }
    }
    match surplus {
        None => Ok(read.into()),
        Some((envelope, length)) => {
            Err(refused(StatusCode::PAYLOAD_TOO_LARGE, Refusal::too_long(&envelope, length, limit)))
        }
    }
}

pub fn refused(status: StatusCode, refusal: Refusal) -> Response {
    tracing::debug!(error = %refusal.error.message, "a message was refused");
    let body = serde_json::to_vec(&refusal.into_message()).unwrap_or_default();
    (status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}
