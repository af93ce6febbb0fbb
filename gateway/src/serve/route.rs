//! One HTTP request: who sends it, which place it is for, and its way there.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use tokio::time::timeout;

use super::answers::{self, Body};
use super::check::{self, CALL_ID_HEADER};
use super::forward::{self, Session};
use super::gateway::{Gateway, PlaceKind, Slot};
use crate::failure::Failure;
use crate::handle::Handle;
use crate::key::random_id;
use crate::link::{Headers, Link};
use crate::message::{self, Envelope};
use crate::places::{PlaceError, now};

const FIRST_WITHOUT_SESSIONS: &str = "2026-07-28";
/// A message has to arrive in this time.
const BODY: Duration = Duration::from_mins(1);
/// A client of the lifecycle without sessions that wants more than one place names them.
const PLACE_HEADER: &str = "testudo-place";

pub async fn handle(gateway: Arc<Gateway>, request: Request<Incoming>) -> Response<Body> {
    if request.uri().path() == "/health" {
        return answers::json(StatusCode::OK, r#"{"status":"ok"}"#);
    }
    let headers = request.headers();
    if let Some(origin) = headers.get("origin").and_then(|origin| origin.to_str().ok())
        && !gateway.origins.iter().any(|allowed| allowed == origin)
    {
        return answers::refusal(StatusCode::FORBIDDEN, "this origin is not in allowed_origins");
    }
    let authorization = headers.get("authorization").and_then(|value| value.to_str().ok());
    let Some(owner) = gateway.owners.of(authorization).map(str::to_owned) else {
        return answers::refusal(StatusCode::UNAUTHORIZED, "unauthorized");
    };
    let kind = match request.uri().path() {
        "/mcp" => gateway.kinds.first(),
        path => path.strip_prefix("/mcp/").and_then(|name| gateway.kind(name)),
    };
    let may_use = |kind: &&Arc<PlaceKind>| kind.owners.as_ref().is_none_or(|owners| owners.contains(&owner));
    let Some(kind) = kind.filter(may_use) else {
        return answers::refusal(StatusCode::NOT_FOUND, "there is no such kind of place");
    };
    let visit = Visit { gateway: &gateway, kind, owner: &owner };
    let answer = match *request.method() {
        Method::POST => visit.post(request).await,
        Method::GET => visit.listen(request.headers()).await,
        Method::DELETE => visit.end(request.headers()).await,
        _ => Err(answers::empty(StatusCode::METHOD_NOT_ALLOWED)),
    };
    answer.unwrap_or_else(|refusal| refusal)
}

struct Visit<'a> {
    gateway: &'a Arc<Gateway>,
    kind: &'a Arc<PlaceKind>,
    owner: &'a str,
}

type Answer = Result<Response<Body>, Response<Body>>;

#[expect(clippy::result_large_err, reason = "a refusal is an answer like any other, and sent at once")]
impl Visit<'_> {
    async fn post(&self, request: Request<Incoming>) -> Answer {
        let (head, body) = request.into_parts();
        let limited = Limited::new(body, self.gateway.limits.largest_message).collect();
        let limited = timeout(BODY, limited).await;
        let limited =
            limited.map_err(|_| answers::refusal(StatusCode::REQUEST_TIMEOUT, "the message did not come in time"))?;
        let body = limited.map_err(|error| {
            let reason = format!("the message was not read ({error})");
            answers::refusal(StatusCode::PAYLOAD_TOO_LARGE, &reason)
        })?;
        let body = body.to_bytes();
        let envelope = Envelope::of(&body);
        let envelope = envelope.ok_or_else(|| answers::refusal(StatusCode::BAD_REQUEST, "this is no message"))?;
        let refused = |reason: String| answers::refused_message(StatusCode::BAD_REQUEST, &envelope, -32020, &reason);
        check::headers_match(&head.headers, &envelope).map_err(refused)?;
        let refused = |reason: String| answers::refused_message(StatusCode::BAD_REQUEST, &envelope, -32020, &reason);
        let version = check::single(&head.headers, "mcp-protocol-version").map_err(refused)?.or(envelope.version());
        if head.headers.contains_key("mcp-session-id") {
            let (link, session) = self.session(&head.headers)?;
            return Ok(self.forward(&link, body, envelope, &head.headers, Session::Known(session)).await.0);
        }
        if envelope.is("initialize") {
            let made = self.gateway.make(self.kind, self.owner).await;
            let place = made.map_err(|error| answers::not_made(&envelope, &error))?;
            let (answer, has_begun) = self.forward(&place.link, body, envelope, &head.headers, Session::Begins).await;
            // A place whose session never began belongs to nobody.
            if has_begun {
                place.keep();
            }
            return Ok(answer);
        }
        if version.is_none_or(|version| version < FIRST_WITHOUT_SESSIONS) {
            let reason = "Bad Request: no Mcp-Session-Id, and the message is no initialize";
            return Err(answers::refused_message(StatusCode::BAD_REQUEST, &envelope, -32600, reason));
        }
        let link = self.slot(&head.headers, &envelope).await?;
        Ok(self.forward(&link, body, envelope, &head.headers, Session::None).await.0)
    }

    /// The place of a client without a protocol session.
    async fn slot(&self, headers: &HeaderMap, envelope: &Envelope) -> Result<Arc<Link>, Response<Body>> {
        let is_only_owner = self.kind.owners.as_ref().is_some_and(|owners| owners.len() == 1);
        if !self.kind.launcher.is_private() && !is_only_owner {
            let reason = "this place is shared by several owners, and only protocol sessions keep them apart there; use a \
                          client of 2025-11-25, or have the operator name one owner for this place";
            return Err(answers::refused_message(StatusCode::BAD_REQUEST, envelope, -32022, reason));
        }
        let name = check::single(headers, PLACE_HEADER);
        let name = name.map_err(|reason| answers::refusal(StatusCode::BAD_REQUEST, &reason))?.unwrap_or_default();
        let found = self.gateway.slot(self.kind, self.owner, name, envelope.is("server/discover")).await;
        match found.map_err(|error| answers::not_made(envelope, &error))? {
            Slot::There(link) => Ok(link),
            Slot::Ended(link, how) => {
                let gone = Failure::Gone { place: link.name(), how };
                Err(answers::json(StatusCode::OK, gone.answer(envelope, envelope.call_id())))
            }
        }
    }

    /// The place and the place's own session id, from the handle that the client shows.
    fn session(&self, headers: &HeaderMap) -> Result<(Arc<Link>, String), Response<Body>> {
        let shown = check::single(headers, "mcp-session-id");
        let shown = shown.map_err(|reason| answers::refusal(StatusCode::BAD_REQUEST, &reason))?.unwrap_or_default();
        // A client that gets a 404 begins a new session. What exactly is wrong with its handle is for the log.
        let refused = || answers::refusal(StatusCode::NOT_FOUND, "Not Found: Session not found");
        let handle = Handle::open(shown, &self.gateway.key, self.owner, now()).map_err(|error| {
            tracing::warn!(owner = self.owner, "a session id {error}");
            refused()
        })?;
        if handle.kind != self.kind.name {
            return Err(refused());
        }
        Ok((self.gateway.link(self.kind, &handle.place), handle.session))
    }

    async fn listen(&self, headers: &HeaderMap) -> Answer {
        if !headers.contains_key("mcp-session-id") {
            return Err(answers::empty(StatusCode::METHOD_NOT_ALLOWED));
        }
        let (link, session) = self.session(headers)?;
        let mut sent = forwarded(headers, &Session::Known(session));
        sent.set("accept", "text/event-stream");
        forward::listen(&link, &sent, self.gateway.closing.clone()).await
    }

    async fn end(&self, headers: &HeaderMap) -> Answer {
        let (link, session) = self.session(headers)?;
        let sent = forwarded(headers, &Session::Known(session));
        if !self.kind.launcher.is_private() {
            // A server that ends a session ends its processes first, which takes a while under load.
            let told = timeout(link.patience, link.send(Method::DELETE, &sent, Bytes::new())).await;
            let status = told.ok().and_then(Result::ok).map_or(StatusCode::BAD_GATEWAY, |answer| answer.head.status);
            return Ok(answers::empty(status));
        }
        let (gateway, kind, place) = (self.gateway.clone(), self.kind.clone(), link.clone());
        // A client that has said goodbye may hang up. Its place has to end even then.
        let ending = tokio::spawn(async move {
            let _ = place.send_briefly(Method::DELETE, &sent, Bytes::new()).await;
            gateway.end(&kind, &place.id).await
        });
        let ended = ending.await.unwrap_or_else(|error| Err(PlaceError::Failed(error.to_string())));
        ended.map_err(|error| {
            let reason = format!("the place {} may still be there: {error}", link.name());
            answers::refusal(StatusCode::BAD_GATEWAY, &reason)
        })?;
        Ok(answers::empty(StatusCode::NO_CONTENT))
    }

    /// The answer, and whether a session that begins has begun.
    async fn forward(
        &self,
        link: &Arc<Link>,
        mut body: Bytes,
        envelope: Envelope,
        headers: &HeaderMap,
        session: Session,
    ) -> (Response<Body>, bool) {
        let mut sent = forwarded(headers, &session);
        sent.set_from(&envelope);
        let given = envelope.call_id().or_else(|| headers.get(CALL_ID_HEADER)?.to_str().ok()).map(str::to_owned);
        let mut cancels = false;
        if envelope.is_call() {
            cancels = given.is_none() && matches!(session, Session::None);
            let id = match given.clone() {
                // Owners must not meet in the records of calls.
                Some(id) if self.kind.launcher.shares_records() => {
                    let own = format!("{}.{id}", self.gateway.owner_tag(self.owner));
                    if envelope.call_id().is_some() {
                        body = message::with_call_id(&body, &own).into();
                    }
                    own
                }
                Some(id) => id,
                None => format!("{}{}", random_id().unwrap_or_default(), random_id().unwrap_or_default()),
            };
            sent.set(CALL_ID_HEADER, &id);
        }
        let seal = |inner: &str| {
            let handle = Handle {
                kind: self.kind.name.clone(),
                place: link.id.clone(),
                owner: self.owner.to_owned(),
                session: inner.to_owned(),
                expires: now().saturating_add(self.gateway.limits.session),
            };
            handle.seal(&self.gateway.key)
        };
        let mut exchange = link.exchange(body, envelope.clone(), sent);
        exchange.show(given);
        let forwarding = forward::Forwarding { link: link.clone(), envelope, session, cancels };
        forwarding.run(exchange, seal).await
    }
}

/// The headers of a client that its place should see.
fn forwarded(headers: &HeaderMap, session: &Session) -> Headers {
    let mut sent = Headers::default();
    for name in ["mcp-protocol-version", "last-event-id", "accept", "mcp-method", "mcp-name"] {
        if let Some(value) = headers.get(name).and_then(|value| value.to_str().ok()) {
            sent.set(name, value);
        }
    }
    if let Session::Known(id) = session {
        sent.set("mcp-session-id", id);
    }
    sent
}
