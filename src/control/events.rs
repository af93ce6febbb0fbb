//! What happens, as it happens: a stream of server-sent events.
//!
//! - `state`: everything at the beginning.
//! - `event`: a line of the audit log, without the chain.
//! - `questions`: the questions that wait now, whenever that changes.
//! - `lagged`: so many events were left out, because the reader was too slow.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::{RawQuery, State as Shared};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;

use super::{Viewer, api};
use crate::audit::Entry;
use crate::server::Server;

/// A reader that has gone is noticed by this at the latest.
pub const KEEP_ALIVE: Duration = Duration::from_secs(10);
/// A browser that has lost the stream asks for it again after so many milliseconds.
const BACK_SOON: &[u8] = b"retry: 1000\n\n";
/// Events that wait for a slow reader.
const WAITING: usize = 64;

/// The writing end of a stream of events.
pub struct Teller(mpsc::Sender<Bytes>);

impl Teller {
    /// The stream, and the response that carries it.
    pub fn new() -> (Self, Response) {
        let (sender, receiver) = mpsc::channel(WAITING);
        let _ = sender.try_send(Bytes::from_static(BACK_SOON));
        let stream = futures::stream::unfold(receiver, async |mut receiver: mpsc::Receiver<Bytes>| {
            let piece = receiver.recv().await?;
            Some((Ok::<Bytes, Infallible>(piece), receiver))
        });
        let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
        (Self(sender), (headers, Body::from_stream(stream)).into_response())
    }

    /// Returns `false` if nobody reads any more.
    pub async fn tell(&self, kind: &str, value: &impl Serialize) -> bool {
        let data = serde_json::to_string(value).unwrap_or_default();
        self.tell_text(kind, &data).await
    }

    async fn tell_text(&self, kind: &str, data: &str) -> bool {
        self.0.send(Bytes::from(format!("event: {kind}\ndata: {data}\n\n"))).await.is_ok()
    }

    /// A comment that keeps the connection alive.
    pub async fn keep_alive(&self) -> bool {
        self.0.send(Bytes::from_static(b":\n\n")).await.is_ok()
    }

    /// Waits until nobody reads any more.
    pub async fn closed(&self) {
        self.0.closed().await;
    }
}

/// With `approver=1`, questions wait for this reader's answer.
pub async fn stream(
    Shared(server): Shared<Arc<Server>>,
    Extension(viewer): Extension<Viewer>,
    RawQuery(query): RawQuery,
) -> Response {
    let approver =
        (api::number(query.as_deref(), "approver") == Some(1)).then(|| server.questions().attach(viewer.answers()));
    let (teller, response) = Teller::new();
    tokio::spawn(async move {
        let _approver = approver;
        tell_all(&server, &viewer, &teller).await;
    });
    response
}

async fn tell_all(server: &Server, viewer: &Viewer, teller: &Teller) {
    let (mut live, mut changes) = (server.audit().watch(), server.questions().changes());
    if !teller.tell("state", &api::state(server, viewer)).await {
        return;
    }
    loop {
        let told = tokio::select! {
            entry = live.recv() => match entry {
                Ok(entry) if !sees(viewer, &entry) => true,
                Ok(entry) => teller.tell_text("event", &server.audit().shown(&entry)).await,
                Err(RecvError::Lagged(count)) => teller.tell("lagged", &count).await,
                Err(RecvError::Closed) => false,
            },
            changed = changes.changed() => changed.is_ok() && teller.tell("questions", &api::questions(server, viewer)).await,
            () = teller.closed() => false,
            () = tokio::time::sleep(KEEP_ALIVE) => teller.keep_alive().await,
        };
        if !told {
            return;
        }
    }
}

/// What belongs to no client is for the owner alone.
fn sees(viewer: &Viewer, entry: &Entry) -> bool {
    entry.who.as_ref().map_or(*viewer == Viewer::Owner, |who| viewer.sees(&who.principal))
}
