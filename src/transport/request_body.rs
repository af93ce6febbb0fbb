//! Reads the body of a request whole, before the SDK sees it: within limits of size and time. A body that is too large
//! gets an error response of the protocol.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;

use super::envelope::Envelope;
use super::message_error::MessageError;

/// The longest pause between two pieces of a body.
const PIECE_WITHIN: Duration = Duration::from_secs(30);
/// A client reads our response only after it has sent its whole request. So a body that is too large is still read, up to
/// this many times the limit, and thrown away.
const READ_AT_MOST: usize = 4;

pub async fn read(mut body: Body, limit: usize) -> Result<Bytes, Response> {
    let mut read = Vec::new();
    let mut surplus: Option<(Envelope, usize)> = None;
    loop {
        let Ok(frame) = tokio::time::timeout(PIECE_WITHIN, body.frame()).await else {
            return Err((StatusCode::REQUEST_TIMEOUT, "the rest of the request body did not arrive\n").into_response());
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
                if *length > limit.saturating_mul(READ_AT_MOST) {
                    break;
                }
            }
        }
    }
    match surplus {
        None => Ok(read.into()),
        Some((envelope, length)) => {
            Err(MessageError::too_long(&envelope, length, limit).into_response(StatusCode::PAYLOAD_TOO_LARGE))
        }
    }
}
