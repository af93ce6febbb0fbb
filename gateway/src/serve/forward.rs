//! The way of one message to its place, and of the answer back to the client.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use futures::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use hyper::{Method, Response, StatusCode};
use tokio::sync::watch;

use super::answers::{self, Body};
use crate::exchange::Exchange;
use crate::link::{Headers, Link};
use crate::message::{self, Envelope};

pub enum Session {
    /// This message begins one.
    Begins,
    /// The id that the place gave.
    Known(String),
    /// The lifecycle without sessions.
    None,
}

pub struct Forwarding {
    pub link: Arc<Link>,
    pub envelope: Envelope,
    pub session: Session,
    /// Whether the client cancels the call when it closes the response.
    pub cancels: bool,
}

impl Forwarding {
    /// The answer, and whether the place is still of use: `false` if it was made for a session that did not begin.
    pub async fn run(self, mut exchange: Exchange, seal: impl Fn(&str) -> String) -> (Response<Body>, bool) {
        let head = match exchange.begin().await {
            Ok(head) => head,
            Err(answer) => {
                let begins = matches!(self.session, Session::Begins);
                let status = if begins { StatusCode::BAD_GATEWAY } else { StatusCode::OK };
                return (answers::json(status, answer), !begins);
            }
        };
        let inner = head.headers.get("mcp-session-id").and_then(|id| id.to_str().ok());
        let is_open = !matches!(self.session, Session::Begins) || inner.is_some();
        let greets = self.envelope.is("initialize") || self.envelope.is("server/discover");
        let mut response = if head.is_stream {
            let guard = CancelOnDrop {
                link: self.link.clone(),
                id: exchange.call_id().map(str::to_owned),
                armed: self.cancels,
            };
            Response::new(events(exchange, guard, greets.then(|| self.link.introduction())))
        } else {
            let data = exchange.whole().await;
            let data = if greets { message::with_instructions(&data, &self.link.introduction()).into() } else { data };
            answers::json(head.status, data)
        };
        *response.status_mut() = head.status;
        for name in ["content-type", "cache-control", "mcp-protocol-version"] {
            if let Some(value) = head.headers.get(name) {
                response.headers_mut().insert(name, value.clone());
            }
        }
        if let Some(inner) = inner.filter(|_| matches!(self.session, Session::Begins)) {
            answers::set(&mut response, "mcp-session-id", &seal(inner));
        }
        (response, is_open)
    }
}

/// Events as they come. The first response of a client tells it where it is.
fn events(exchange: Exchange, guard: CancelOnDrop, introduction: Option<String>) -> Body {
    let stream =
        stream::unfold((exchange, guard, introduction), |(mut exchange, mut guard, introduction)| async move {
            let event = exchange.next().await;
            guard.armed &= event.is_some() && !exchange.is_done();
            let event = event?;
            let event = match &introduction {
                Some(line) if !event.data().is_empty() => {
                    event.with_data(&message::with_instructions(&event.data(), line))
                }
                _ => event,
            };
            Some((Ok::<_, Infallible>(Frame::data(event.raw)), (exchange, guard, introduction)))
        });
    StreamBody::new(stream).boxed_unsync()
}

/// In the lifecycle without sessions a client cancels by closing the response. The place cannot tell that from a broken
/// link, so it is told.
struct CancelOnDrop {
    link: Arc<Link>,
    id: Option<String>,
    armed: bool,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let (true, Some(id)) = (self.armed, self.id.take()) else { return };
        let link = self.link.clone();
        tokio::spawn(async move { link.cancel(&id).await });
    }
}

/// The stream on which a place sends questions and notifications outside of calls.
pub async fn listen(
    link: &Arc<Link>,
    headers: &Headers,
    closing: watch::Receiver<bool>,
) -> Result<Response<Body>, Response<Body>> {
    let answer = link.send(Method::GET, headers, Bytes::new()).await;
    let answer =
        answer.map_err(|error| answers::refusal(StatusCode::BAD_GATEWAY, &format!("{}: {error}", link.name())))?;
    let (status, kind) = (answer.head.status, answer.head.headers.get("content-type").cloned());
    let body = stream::unfold((answer, closing, link.hold()), |(mut answer, mut closing, hold)| async move {
        let chunk = tokio::select! {
            chunk = answer.chunk() => chunk.ok()??,
            // No call waits for this stream. The client opens it again at another replica.
            _ = closing.wait_for(|closing| *closing) => return None,
        };
        Some((Ok::<_, Infallible>(Frame::data(chunk)), (answer, closing, hold)))
    });
    let mut response = Response::new(StreamBody::new(body).boxed_unsync());
    *response.status_mut() = status;
    if let Some(kind) = kind {
        response.headers_mut().insert("content-type", kind);
    }
    Ok(response)
}
