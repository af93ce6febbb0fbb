//! HTTP to one place, over whatever byte stream its launcher gives. Connections are used again.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::http::response::Parts;
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use thiserror::Error;
use tokio::time::timeout;

use crate::events::{Event, Events};
use crate::places::{Launcher, Presence};
use crate::pulse::Pulse;

type Sender = SendRequest<Full<Bytes>>;

/// A place that does not take a connection in this time does not answer.
const CONNECT: Duration = Duration::from_secs(4);
const MOST_IDLE: usize = 8;
/// No answer of testudo is as long. A command in a place can end the server there and answer in its stead, so the gateway
/// does not keep whatever a place sends.
const LARGEST: usize = 64 << 20;

pub struct Wire {
    launcher: Arc<dyn Launcher>,
    id: String,
    idle: Mutex<Vec<Sender>>,
    pub pulse: Pulse,
}

#[derive(Debug, Error)]
pub enum WireError {
    #[error("it cannot be reached ({0})")]
    Unreachable(#[from] io::Error),
    #[error("the connection broke ({0})")]
    Broken(#[from] hyper::Error),
    #[error("it answered with more than {} MB", LARGEST >> 20)]
    TooMuch,
    /// For `waited` of this time the place was known to be there, or to be frozen.
    #[error("nothing has come from it for {seconds} s")]
    Silent { seconds: u64, waited: Duration, presence: Presence },
}

impl Wire {
    pub fn new(launcher: Arc<dyn Launcher>, id: String) -> Arc<Self> {
        Arc::new(Self { launcher, id, idle: Mutex::default(), pulse: Pulse::default() })
    }

    pub async fn send(self: &Arc<Self>, request: Request<Full<Bytes>>) -> Result<Answer, WireError> {
        let mut sender = match self.take_idle() {
            Some(sender) => sender,
            None => self.connect().await?,
        };
        let (head, body) = sender.send_request(request).await?.into_parts();
        self.pulse.beat();
        Ok(Answer { head, body, sender: Some(sender), wire: self.clone() })
    }

    /// Whether the server in the place answers, on a connection of its own.
    pub async fn answers(&self, within: Duration) -> bool {
        let ask = async {
            let mut sender = self.connect().await.ok()?;
            let request = Request::builder().method(Method::GET).uri("/health").header("host", "localhost");
            let request = request.body(Full::default()).expect("a constant request");
            sender.send_request(request).await.ok().filter(|answer| answer.status().is_success())
        };
        timeout(within, ask).await.ok().flatten().is_some()
    }

    /// What the engine says of the place.
    pub async fn presence(&self) -> Presence {
        self.launcher.presence(&self.id).await
    }

    fn take_idle(&self) -> Option<Sender> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        std::iter::from_fn(|| idle.pop()).find(|sender| sender.is_ready() && !sender.is_closed())
    }

    async fn connect(&self) -> Result<Sender, WireError> {
        let stream = timeout(CONNECT, self.launcher.reach(&self.id));
        let stream = stream.await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(sender)
    }

    /// After a break no connection is trusted any more.
    pub fn forget_connections(&self) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// An answer whose body is still to be read. To drop it earlier closes its connection.
pub struct Answer {
    pub head: Parts,
    body: Incoming,
    sender: Option<Sender>,
    wire: Arc<Wire>,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.headers.get(name)?.to_str().ok()
    }

    pub fn is_stream(&self) -> bool {
        self.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"))
    }

    /// The next piece, or `None` at the end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, WireError> {
        loop {
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    self.wire.pulse.beat();
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
                Some(Err(error)) => return Err(error.into()),
                None => {
                    self.give_back();
                    return Ok(None);
                }
            }
        }
    }

    pub async fn whole(&mut self) -> Result<Bytes, WireError> {
        let mut whole = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            if whole.len() + chunk.len() > LARGEST {
                return Err(WireError::TooMuch);
            }
            whole.extend_from_slice(&chunk);
        }
        Ok(whole.into())
    }

    /// The next whole event of a stream, or `None` at the end.
    pub async fn event(&mut self, events: &mut Events) -> Result<Option<Event>, WireError> {
        loop {
            if let Some(event) = events.next() {
                return Ok(Some(event));
            }
            let Some(chunk) = self.chunk().await? else { return Ok(None) };
            if events.pending() + chunk.len() > LARGEST {
                return Err(WireError::TooMuch);
            }
            events.push(&chunk);
        }
    }

    fn give_back(&mut self) {
        let Some(sender) = self.sender.take() else { return };
        let mut idle = self.wire.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MOST_IDLE {
            idle.push(sender);
        }
    }
}
