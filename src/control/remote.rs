//! The other side of the API: one server, as `testudo ps`, `watch` and `approve` see it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use tokio::net::UnixStream;

use super::types::{AnswerRequest, Problem, State};
use crate::exec::PrivateSocket;

/// A server that can be asked. Cheap to clone.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Remote {
    socket: Arc<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    #[error("failed to connect to a server: {0}")]
    Connect(#[from] std::io::Error),
    #[error("the connection to a server failed: {0}")]
    Http(#[from] hyper::Error),
    #[error("a server gave an answer that cannot be read: {0}")]
    Json(#[from] serde_json::Error),
    #[error("a server did not answer in time")]
    TooSlow,
    /// The server refused, and says why.
    #[error("{0}")]
    Refused(String),
}

/// One event of a stream.
#[derive(Clone, Debug)]
pub struct Message {
    pub kind: String,
    pub data: serde_json::Value,
}

/// A stream of events.
pub struct Events {
    body: Incoming,
    buffer: Vec<u8>,
}

/// A server that is busy or stopped must not hold up the others.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// A person waits for these answers, and a draft may have any size.
const DRAFTS: &str = "/v1/drafts";
const DRAFT_WITHIN: Duration = Duration::from_mins(10);

impl Remote {
    pub fn new(socket: PathBuf) -> Self {
        Self { socket: Arc::new(socket) }
    }

    pub async fn state(&self) -> Result<State, RemoteError> {
        self.read(Method::GET, "/v1/state", Bytes::new()).await
    }

    pub async fn answer(&self, question: &str, decision: &str, by: &str) -> Result<(), RemoteError> {
        let body = serde_json::to_vec(&AnswerRequest { decision: decision.to_owned(), by: by.to_owned() })?;
        self.send(Method::POST, &format!("/v1/questions/{question}"), body.into()).await.map(drop)
    }

    /// A stream that goes on until the server ends it.
    pub async fn events(&self, path: &str) -> Result<Events, RemoteError> {
        let response = self.request(Method::GET, path, Bytes::new()).await?;
        Ok(Events { body: response.into_body(), buffer: Vec::new() })
    }

    async fn read<T: DeserializeOwned>(&self, method: Method, path: &str, body: Bytes) -> Result<T, RemoteError> {
        Ok(serde_json::from_slice(&self.send(method, path, body).await?)?)
    }

    async fn send(&self, method: Method, path: &str, body: Bytes) -> Result<Bytes, RemoteError> {
        let whole = async { Ok(self.request(method, path, body).await?.into_body().collect().await?.to_bytes()) };
        tokio::time::timeout(ANSWER_WITHIN, whole).await.unwrap_or(Err(RemoteError::TooSlow))
    }

    async fn request(&self, method: Method, path: &str, body: Bytes) -> Result<Response<Incoming>, RemoteError> {
        let response = self.forward(method, path, body).await?;
        if response.status().is_success() {
            return Ok(response);
        }
        let body = response.into_body().collect().await?.to_bytes();
        let problem: Result<Problem, _> = serde_json::from_slice(&body);
        Err(RemoteError::Refused(problem.map_or_else(|_| "the server refused".to_owned(), |problem| problem.error)))
    }

    /// Whatever the server answers, for somebody else who asks.
    pub async fn forward(&self, method: Method, path: &str, body: Bytes) -> Result<Response<Incoming>, RemoteError> {
        let stream = PrivateSocket::connect(&self.socket)?;
        stream.set_nonblocking(true)?;
        let stream = TokioIo::new(UnixStream::from_std(stream)?);
        let (mut sender, connection) = hyper::client::conn::http1::handshake(stream).await?;
        tokio::spawn(connection);
        let request = Request::builder().method(method).uri(path).header("host", "testudo");
        let request = request.body(Full::new(body)).map_err(|error| RemoteError::Refused(error.to_string()))?;
        let within = if path.starts_with(DRAFTS) { DRAFT_WITHIN } else { ANSWER_WITHIN };
        let asked = tokio::time::timeout(within, sender.send_request(request));
        Ok(asked.await.map_err(|_| RemoteError::TooSlow)??)
    }
}

impl Events {
    /// The next event; `None` at the end.
    pub async fn next(&mut self) -> Option<Message> {
        loop {
            while let Some(end) = memchr::memmem::find(&self.buffer, b"\n\n") {
                let block: Vec<u8> = self.buffer.drain(..end + 2).collect();
                if let Some(message) = parse(&String::from_utf8_lossy(&block)) {
                    return Some(message);
                }
            }
            let frame = self.body.frame().await?.ok()?;
            if let Ok(data) = frame.into_data() {
                self.buffer.extend_from_slice(&data);
            }
        }
    }
}

fn parse(block: &str) -> Option<Message> {
    let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    let data = serde_json::from_str(field("data")?).ok()?;
    Some(Message { kind: field("event")?.to_owned(), data })
}
