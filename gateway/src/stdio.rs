//! One client on stdin and stdout, and one place for it. Messages go to the place as they come; answers, questions and
//! progress come back as they are. The place ends with the client.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use hyper::Method;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Stdout};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::arguments::OnePlace;
use crate::events::Events;
use crate::failure;
use crate::key::random_id;
use crate::link::{Headers, Link};
use crate::message::{self, Envelope};
use crate::places::{Launcher, Order};
use crate::signals;

/// After a lost connection the client's stream for questions is opened again.
const PAUSE: Duration = Duration::from_secs(1);
/// So long a gateway that is asked to end goes on making its place.
const FINISH: Duration = Duration::from_secs(10);

pub async fn run(launcher: Arc<dyn Launcher>, options: &OnePlace) -> anyhow::Result<()> {
    let order = Order { owner: "me".to_owned(), slot: random_id()? };
    let maker = launcher.clone();
    let mut making = tokio::spawn(async move { maker.make(&order).await });
    let (made, is_over) = tokio::select! {
        made = &mut making => (made, false),
        // A place that is half made would stay. So it is made, if it does not take long, and ended.
        () = signals::asked_to_end() => match timeout(FINISH, making).await {
            Ok(made) => (made, true),
            Err(_) => return Ok(()),
        },
    };
    let id = made?.with_context(|| format!("failed to make the place {}", launcher.name()))?;
    let link = Link::new(launcher, id, Duration::from_secs(options.patience));
    // A person who is away still needs the place: it hears from us as long as we run.
    let hold = link.hold();
    let client = Arc::new(Client::new(link.clone())?);
    let tidying = link.launcher.clone();
    tokio::spawn(async move {
        if let Err(error) = tidying.clear_left_over().await {
            tracing::info!("{error}");
        }
    });
    tokio::select! {
        read = client.clone().read(), if !is_over => read?,
        () = signals::asked_to_end(), if !is_over => {}
        else => {}
    }
    drop(hold);
    client.leave().await;
    link.launcher.destroy(&link.id).await.with_context(|| format!("failed to end the place {}", link.name()))
}

struct Client {
    link: Arc<Link>,
    output: tokio::sync::Mutex<Stdout>,
    /// Distinguishes the calls of this run from those of any other.
    run: String,
    calls: std::sync::atomic::AtomicU64,
    session: Mutex<Session>,
    open: Mutex<HashMap<String, Open>>,
}

/// A request under way.
struct Open {
    task: JoinHandle<()>,
    call_id: Option<String>,
}

/// Of the lifecycle with sessions: what goes with every message.
#[derive(Clone, Default)]
struct Session {
    id: Option<String>,
    version: Option<String>,
}

impl Client {
    fn new(link: Arc<Link>) -> anyhow::Result<Self> {
        Ok(Self {
            link,
            output: tokio::sync::Mutex::new(tokio::io::stdout()),
            run: random_id()?,
            calls: 0.into(),
            session: Mutex::default(),
            open: Mutex::default(),
        })
    }

    async fn read(self: Arc<Self>) -> anyhow::Result<()> {
        let mut input = BufReader::new(tokio::io::stdin());
        let mut line = Vec::new();
        while input.read_until(b'\n', &mut line).await? > 0 {
            let message = Bytes::copy_from_slice(line.trim_ascii());
            line.clear();
            if message.is_empty() {
                continue;
            }
            match Envelope::of(&message) {
                Some(envelope) => self.take(message, envelope).await,
                None => self.write(&failure::error(&Value::Null, -32700, "Parse error: this is no message")).await,
            }
        }
        Ok(())
    }

    async fn take(self: &Arc<Self>, message: Bytes, envelope: Envelope) {
        if !envelope.is_request() {
            let client = self.clone();
            // What follows needs a session that has begun.
            let is_awaited = envelope.is("notifications/initialized");
            let notified = tokio::spawn(async move {
                if envelope.is("notifications/cancelled") {
                    client.cancelled(&envelope).await;
                }
                client.notify(message, &envelope).await;
            });
            // A place that does not answer must not keep us from what the client says next, or from its end.
            if is_awaited {
                let _ = notified.await;
            }
            return;
        }
        let id = envelope.id.clone().unwrap_or_default().to_string();
        // What follows an initialize needs the session that it begins.
        let headers = self.headers(&envelope);
        if envelope.is("initialize") {
            return self.clone().request(message, envelope, headers).await;
        }
        let (client, key) = (self.clone(), id.clone());
        let call_id = headers.0.get("testudo-call-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
        // The lock keeps the task from removing itself before it is in the table.
        let mut open = self.open();
        let task = tokio::spawn(async move {
            client.clone().request(message, envelope, headers).await;
            client.open().remove(&key);
        });
        open.insert(id, Open { task, call_id });
    }

    fn open(&self) -> std::sync::MutexGuard<'_, HashMap<String, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn session(&self) -> Session {
        self.session.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A call that was repeated has another id at the place, so it is cancelled by its call id.
    async fn cancelled(&self, envelope: &Envelope) {
        let Some(id) = &envelope.params.request_id else { return };
        let Some(open) = self.open().remove(&id.to_string()) else { return };
        if let Some(call_id) = open.call_id {
            self.link.cancel(&call_id).await;
        }
        // Nobody waits for the answer to a cancelled request.
        open.task.abort();
    }

    fn headers(&self, envelope: &Envelope) -> Headers {
        let (mut headers, session) = (Headers::default(), self.session());
        if let Some(id) = &session.id {
            headers.set("mcp-session-id", id);
        }
        if let Some(version) = envelope.version().or(session.version.as_deref()) {
            headers.set("mcp-protocol-version", version);
        }
        headers.set_from(envelope);
        if envelope.is_call() {
            let number = self.calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let own = || format!("{}-{number}", self.run);
            headers.set("testudo-call-id", &envelope.call_id().map_or_else(own, str::to_owned));
        }
        headers
    }

    async fn request(self: Arc<Self>, message: Bytes, envelope: Envelope, headers: Headers) {
        let mut exchange = self.link.exchange(message, envelope.clone(), headers);
        let head = match exchange.begin().await {
            Ok(head) => head,
            Err(answer) => return self.write(&answer).await,
        };
        let (mut answered, mut words) = (false, String::new());
        while let Some(event) = exchange.next().await {
            let data = event.data();
            // A place that refuses a request may say why in plain words. Nothing but messages goes to the client.
            if Envelope::of(&data).is_none() {
                words.push_str(&String::from_utf8_lossy(&data));
                continue;
            }
            answered |=
                envelope.id.as_ref().is_some_and(|id| Envelope::of(&data).is_some_and(|one| one.is_response_to(id)));
            if answered && (envelope.is("initialize") || envelope.is("server/discover")) {
                let session = head.headers.get("mcp-session-id").and_then(|id| id.to_str().ok());
                self.welcome(&data, session).await;
            } else {
                self.write(&data).await;
            }
        }
        if !answered {
            let text =
                format!("the place {} answered {} without a response. {}", self.link.name(), head.status, words.trim());
            let text = text.trim_end();
            self.write(&failure::error(&envelope.id.unwrap_or_default(), -32000, text)).await;
        }
    }

    /// The first answer tells the agent where it is.
    async fn welcome(self: &Arc<Self>, data: &[u8], session: Option<&str>) {
        if let Some(id) = session {
            let result: Value = serde_json::from_slice(data).unwrap_or_default();
            let version = result["result"]["protocolVersion"].as_str().map(str::to_owned);
            *self.session.lock().unwrap_or_else(PoisonError::into_inner) = Session { id: Some(id.to_owned()), version };
        }
        self.write(&message::with_instructions(data, &self.link.introduction())).await;
    }

    async fn notify(self: &Arc<Self>, message: Bytes, envelope: &Envelope) {
        let session = self.session();
        // Without a session there is nobody at the place whom a notification could reach.
        if session.id.is_none() && envelope.method.is_some() {
            return;
        }
        let headers = self.headers(envelope);
        if let Err(error) = self.link.send_briefly(Method::POST, &headers, message).await {
            tracing::warn!("{}: a notification was not delivered: {error}", self.link.name());
        }
        if envelope.is("notifications/initialized") {
            tokio::spawn(self.clone().listen());
        }
    }

    /// Questions and notifications outside of calls, in the lifecycle with sessions.
    async fn listen(self: Arc<Self>) {
        let mut headers = self.headers(&Envelope::default());
        headers.set("accept", "text/event-stream");
        loop {
            if let Ok(mut answer) = self.link.send(Method::GET, &headers, Bytes::new()).await {
                if !answer.head.status.is_success() {
                    return;
                }
                let mut events = Events::default();
                while let Ok(Some(event)) = answer.event(&mut events).await {
                    let data = event.data();
                    if !data.is_empty() {
                        self.write(&data).await;
                    }
                }
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn write(&self, message: &[u8]) {
        let mut line = message.to_vec();
        line.retain(|byte| *byte != b'\n');
        line.push(b'\n');
        let mut output = self.output.lock().await;
        // A client that has gone reads nothing. Its closed input ends us.
        let _ = output.write_all(&line).await;
        let _ = output.flush().await;
    }

    /// A place that is not ours to destroy should at least end our session.
    async fn leave(&self) {
        self.open().drain().for_each(|(_, open)| open.task.abort());
        if self.session().id.is_some() && !self.link.launcher.is_private() {
            let headers = self.headers(&Envelope::default());
            let _ = self.link.send_briefly(Method::DELETE, &headers, Bytes::new()).await;
        }
    }
}
