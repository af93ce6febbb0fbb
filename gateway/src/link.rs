//! A place and the way to it. Everything that is sent to a place goes through [`Link::exchange`] or [`Link::send`].

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::exchange::Exchange;
use crate::failure::Failure;
use crate::message::{CALL_ID, Envelope};
use crate::places::{Launcher, Presence};
use crate::wire::{Answer, Wire, WireError};

/// So long a place may take to answer what needs no work of it: a notification, a cancel, the end of a session.
const BRIEF: Duration = Duration::from_secs(5);

/// In seconds. A pod of a warm pool may have a shorter lease than we know.
const MOST_RARELY: u64 = 30;

/// See [`Link::hold`].
pub struct Hold(Option<JoinHandle<()>>);

impl Drop for Hold {
    fn drop(&mut self) {
        if let Some(renewing) = &self.0 {
            renewing.abort();
        }
    }
}

pub struct Link {
    pub launcher: Arc<dyn Launcher>,
    pub id: String,
    pub wire: Arc<Wire>,
    /// So long a call waits for a place that is cut off before its client hears of it.
    pub patience: Duration,
}

/// What goes to the place with a message besides the message.
#[derive(Clone, Debug, Default)]
pub struct Headers(pub HeaderMap);

impl Headers {
    pub fn set(&mut self, name: &'static str, value: &str) {
        // A value that no header can hold was not one of ours, and the place does without it.
        if let Ok(value) = HeaderValue::from_str(value) {
            self.0.insert(HeaderName::from_static(name), value);
        }
    }

    /// The headers that repeat parts of a message in the lifecycle without sessions.
    pub fn set_from(&mut self, envelope: &Envelope) {
        let Some(version) = envelope.version() else { return };
        self.set("mcp-protocol-version", version);
        if let Some(method) = &envelope.method {
            self.set("mcp-method", method);
        }
        if let Some(name) = envelope.name() {
            self.set("mcp-name", &encoded(name));
        }
    }
}

/// A value that cannot stand in a header as it is.
fn encoded(value: &str) -> String {
    let is_plain = value.bytes().all(|byte| (0x20..0x7f).contains(&byte)) && value.trim() == value;
    if is_plain && !value.starts_with("=?base64?") {
        value.to_owned()
    } else {
        format!("=?base64?{}?=", BASE64.encode(value))
    }
}

impl Link {
    pub fn new(launcher: Arc<dyn Launcher>, id: String, patience: Duration) -> Arc<Self> {
        let wire = Wire::new(launcher.clone(), id.clone());
        Arc::new(Self { launcher, id, wire, patience })
    }

    /// For people: what it is, and which.
    pub fn name(&self) -> String {
        format!("{} ({})", self.launcher.name(), self.id)
    }

    pub fn request(&self, method: Method, headers: &Headers, body: Bytes) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = hyper::Uri::from_static("/mcp");
        *request.headers_mut() = headers.0.clone();
        let fixed = [("host", "localhost"), ("content-type", "application/json")];
        let bearer = format!("Bearer {}", self.launcher.token(&self.id));
        for (name, value) in fixed.into_iter().chain([("authorization", bearer.as_str())]) {
            if let Ok(value) = HeaderValue::from_str(value) {
                request.headers_mut().insert(HeaderName::from_static(name), value);
            }
        }
        if self.launcher.lease() > 0 {
            let renews = HeaderName::from_static("testudo-renews-lease");
            request.headers_mut().insert(renews, HeaderValue::from_static("1"));
        }
        let accept = HeaderValue::from_static("application/json, text/event-stream");
        request.headers_mut().entry("accept").or_insert(accept);
        request
    }

    pub async fn send(&self, method: Method, headers: &Headers, body: Bytes) -> Result<Answer, WireError> {
        self.wire.send(self.request(method, headers, body)).await
    }

    /// The same for what needs no work of the place. A frozen one must hold up nobody.
    pub async fn send_briefly(&self, method: Method, headers: &Headers, body: Bytes) -> Result<Answer, WireError> {
        let sent = tokio::time::timeout(BRIEF, self.send(method, headers, body)).await;
        sent.unwrap_or_else(|_| Err(std::io::Error::from(std::io::ErrorKind::TimedOut).into()))
    }

    /// Sends a request and follows it to its end, over broken connections too.
    pub fn exchange(self: &Arc<Self>, message: Bytes, envelope: Envelope, headers: Headers) -> Exchange {
        Exchange::new(self.clone(), message, envelope, headers)
    }

    /// What an agent is told about where it works.
    pub fn introduction(&self) -> String {
        format!(
            "This runs in a place of its own, through testudo-gateway: {}. Directories, programs and the sandbox below are \
             those of that place.",
            self.name()
        )
    }

    /// As long as the result lives, the place hears that somebody needs it. An open connection does not tell it that: what
    /// carries the connection may outlive us, and a place that is cut off has to end itself.
    pub fn hold(self: &Arc<Self>) -> Hold {
        let lease = self.launcher.lease();
        let every = Duration::from_secs(lease.div_ceil(4).min(MOST_RARELY));
        Hold((lease > 0).then(|| tokio::spawn(renew(self.clone(), every))))
    }

    async fn renew_lease(&self) {
        let mut request = self.request(Method::GET, &Headers::default(), Bytes::new());
        *request.uri_mut() = hyper::Uri::from_static("/status");
        let renewed = async { self.wire.send(request).await?.whole().await };
        if let Ok(Err(error)) = tokio::time::timeout(BRIEF, renewed).await {
            tracing::info!("{}: {error}", self.name());
        }
    }

    /// Cancels a call by its id.
    pub async fn cancel(&self, call_id: &str) {
        let note = json!({
            "jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": {"requestId": call_id, "_meta": {CALL_ID: call_id, "io.modelcontextprotocol/protocolVersion": "2026-07-28"}},
        });
        let mut headers = Headers::default();
        headers.set("testudo-call-id", call_id);
        headers.set("mcp-protocol-version", "2026-07-28");
        headers.set("mcp-method", "notifications/cancelled");
        if let Err(error) = self.send_briefly(Method::POST, &headers, note.to_string().into()).await {
            tracing::warn!("{}: a call was not cancelled: {error}", self.name());
        }
    }

    /// Why an exchange has failed: what the engine says of the place, and otherwise what the wire said.
    pub async fn failure(&self, why: &WireError) -> Failure {
        let presence = match why {
            WireError::Silent { presence, .. } => presence.clone(),
            _ => self.wire.presence().await,
        };
        match presence {
            Presence::Gone(how) => Failure::Gone { place: self.name(), how },
            Presence::There => Failure::Unreachable { place: self.name(), why: why.to_string() },
            Presence::Frozen(more) | Presence::Unknown(more) => {
                Failure::Unreachable { place: self.name(), why: format!("{why}; {more}") }
            }
        }
    }
}

async fn renew(link: Arc<Link>, every: Duration) {
    loop {
        tokio::time::sleep(every).await;
        link.renew_lease().await;
    }
}
