//! One request to a place, until its answer. A broken connection does not end it: as long as the place may be there, the
//! same call is sent again under the same call id, and the place answers from its record without running it twice.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::header::HeaderMap;
use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use crate::events::{Event, Events};
use crate::failure::Failure;
use crate::link::{Headers, Hold, Link};
use crate::message::{self, Envelope};
use crate::pulse::watched;
use crate::wire::{Answer, WireError};

const PAUSE: Duration = Duration::from_millis(250);
/// A connection that held for so long was good. Its break begins a new wait.
const HELD: Duration = Duration::from_secs(10);

pub struct Exchange {
    link: Arc<Link>,
    message: Bytes,
    envelope: Envelope,
    headers: Headers,
    /// The id under which the request was sent last.
    sent_as: Option<Value>,
    /// The call id as the client knows it.
    shown: Option<String>,
    attempts: u32,
    began: Instant,
    /// Since when the place has been waited for.
    waiting: Option<Instant>,
    answer: Option<Answer>,
    events: Events,
    done: bool,
    _hold: Hold,
}

/// How the place answered, before its body.
pub struct Head {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub is_stream: bool,
}

impl Exchange {
    pub fn new(link: Arc<Link>, message: Bytes, envelope: Envelope, headers: Headers) -> Self {
        let (sent_as, hold) = (envelope.id.clone(), link.hold());
        Self {
            link,
            message,
            envelope,
            headers,
            sent_as,
            shown: None,
            attempts: 0,
            began: Instant::now(),
            waiting: None,
            answer: None,
            events: Events::default(),
            done: false,
            _hold: hold,
        }
    }

    /// Names the call to the client by the id that the client chose.
    pub fn show(&mut self, id: Option<String>) {
        self.shown = id;
    }

    pub fn call_id(&self) -> Option<&str> {
        self.headers.0.get("testudo-call-id")?.to_str().ok()
    }

    /// Whatever changes nothing may be sent a second time, and a call that has an id. A session that a place began for
    /// nobody ends by itself.
    fn may_repeat(&self) -> bool {
        !self.envelope.is_call() || self.call_id().is_some()
    }

    /// Sends the request. After a failure that cannot be helped the body is the answer to the client.
    pub async fn begin(&mut self) -> Result<Head, Vec<u8>> {
        loop {
            match self.attempt().await {
                Ok(()) => {
                    let answer = self.answer.as_ref().expect("an attempt that succeeded left an answer");
                    return Ok(Head {
                        status: answer.head.status,
                        headers: answer.head.headers.clone(),
                        is_stream: answer.is_stream(),
                    });
                }
                Err(error) => self.pause(&error).await?,
            }
        }
    }

    /// The whole body of an answer that is no stream.
    pub async fn whole(&mut self) -> Bytes {
        self.next().await.map(|event| event.data()).unwrap_or_default()
    }

    pub fn is_done(&self) -> bool {
        self.done
    }

    /// The next event, up to and including the response. A failure becomes the response.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            if self.done {
                return None;
            }
            let mut failed = match self.read().await {
                Ok(event) => return event,
                Err(error) => error,
            };
            // A place that answers and breaks off again and again is not waited for forever.
            self.waiting = self.waiting_since();
            loop {
                if let Err(answer) = self.pause(&failed).await {
                    self.done = true;
                    return Some(Event::of(&answer));
                }
                match self.attempt().await {
                    Ok(()) => break,
                    Err(error) => failed = error,
                }
            }
        }
    }

    async fn attempt(&mut self) -> Result<(), WireError> {
        self.events = Events::default();
        let mut body = self.message.clone();
        if self.attempts > 0 && self.envelope.is_call() {
            // The place refuses a second open request with the id of the first.
            let id = json!(format!("{}#{}", self.call_id().unwrap_or_default(), self.attempts));
            body = message::with_id(&self.message, &id).into();
            self.sent_as = Some(id);
        }
        self.attempts += 1;
        self.began = Instant::now();
        let send = self.link.send(Method::POST, &self.headers, body);
        self.answer = Some(watched(&self.link.wire, self.patience(), send).await?);
        Ok(())
    }

    /// Reads the next event, or the whole body of an answer that is no stream.
    async fn read(&mut self) -> Result<Option<Event>, WireError> {
        let patience = self.patience();
        let Some(answer) = self.answer.as_mut() else { return Err(broken()) };
        if !answer.is_stream() {
            let data = watched(&self.link.wire, patience, answer.whole()).await?;
            // Good order is not enough: what is no response to this request says nothing about it.
            if self.envelope.is_request() && answer.head.status.is_success() && !self.is_response(&data) {
                return Err(broken());
            }
            self.done = true;
            let data = self.under_own_id(&data);
            return Ok((!data.is_empty()).then(|| Event::of(&data)));
        }
        let Some(event) = watched(&self.link.wire, patience, answer.event(&mut self.events)).await? else {
            // A stream that ends before the response has broken, even if it ended in good order.
            if self.envelope.is_request() {
                return Err(broken());
            }
            self.done = true;
            return Ok(None);
        };
        let data = event.data();
        if !self.is_response(&data) {
            return Ok(Some(event));
        }
        self.done = true;
        // Reading to the end lets the connection be used again.
        if let Some(mut answer) = self.answer.take() {
            tokio::spawn(async move { timeout(Duration::from_secs(1), answer.whole()).await });
        }
        Ok(Some(if self.sent_as == self.envelope.id { event } else { Event::of(&self.under_own_id(&data)) }))
    }

    fn is_response(&self, data: &[u8]) -> bool {
        let Some(id) = &self.sent_as else { return false };
        !data.is_empty() && Envelope::of(data).is_some_and(|found| found.is_response_to(id))
    }

    fn under_own_id(&self, data: &[u8]) -> Bytes {
        match (&self.envelope.id, &self.sent_as) {
            (Some(own), Some(sent)) if own != sent => message::with_id(data, own).into(),
            _ => Bytes::copy_from_slice(data),
        }
    }

    fn waiting_since(&self) -> Option<Instant> {
        self.waiting.filter(|_| self.began.elapsed() < HELD)
    }

    /// So long the place may still be waited for.
    fn patience(&self) -> Duration {
        self.link.patience.saturating_sub(self.waiting_since().map_or(Duration::ZERO, |since| since.elapsed()))
    }

    /// Waits before the next attempt, or gives the answer with which the exchange ends.
    async fn pause(&mut self, error: &WireError) -> Result<(), Vec<u8>> {
        self.answer = None;
        self.link.wire.forget_connections();
        let failure = self.link.failure(error).await;
        let before = if let WireError::Silent { waited, .. } = error { *waited } else { Duration::ZERO };
        let waited = self.waiting.get_or_insert_with(|| Instant::now() - before).elapsed();
        let is_over = matches!(failure, Failure::Gone { .. })
            || matches!(error, WireError::TooMuch)
            || waited >= self.link.patience
            || !self.may_repeat();
        if is_over {
            tracing::warn!("{}: {error}; the call ends as {}", self.link.name(), failure.outcome());
            return Err(failure.answer(&self.envelope, self.shown.as_deref().or(self.call_id())));
        }
        tracing::info!("{}: {error}; trying again", self.link.name());
        sleep(PAUSE).await;
        Ok(())
    }
}

fn broken() -> WireError {
    std::io::Error::from(std::io::ErrorKind::ConnectionAborted).into()
}
