//! The requests of one protocol session that have no response yet. In the lifecycle with sessions, a lost connection does
//! not cancel a call: the client may reconnect and receive the response. If it does not reconnect within the grace period,
//! the call is cancelled, so that no command runs on without a client.

use std::collections::HashSet;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};
use std::time::Duration;

use futures::Stream;
use rmcp::model::RequestId;
use rmcp::transport::streamable_http_server::session::ServerSseMessage;

use super::response_id::response_id;
use crate::base::locks::LockExt;

/// Called with the id of a request whose client did not reconnect.
pub type OnAbandoned = Box<dyn Fn(RequestId) + Send + Sync>;

pub struct OpenRequests {
    state: Mutex<State>,
    reconnect_grace: Duration,
    on_abandoned: OnAbandoned,
}

#[derive(Default)]
struct State {
    ids: HashSet<RequestId>,
    /// How many streams of a reconnected client are open.
    resumed: usize,
}

impl OpenRequests {
    pub fn new(reconnect_grace: Duration, on_abandoned: OnAbandoned) -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), reconnect_grace, on_abandoned })
    }

    /// None if a request with this id is open already. `goes_on` is for a call that nobody has to wait for: its client can
    /// ask for the result later.
    pub fn open(self: &Arc<Self>, id: &RequestId, goes_on: bool) -> Option<OpenRequest> {
        let new = self.state().ids.insert(id.clone());
        new.then(|| OpenRequest { requests: self.clone(), id: Some(id.clone()), goes_on })
    }

    fn close(&self, id: &RequestId) {
        self.state().ids.remove(id);
    }

    /// The stream of a client that has reconnected.
    pub fn resumed<S>(self: &Arc<Self>, stream: S) -> ResumedStream<S> {
        self.state().resumed += 1;
        ResumedStream { stream, requests: self.clone() }
    }

    /// Gives the client time to reconnect, again and again while it listens.
    async fn wait_for_client(self: Arc<Self>, id: RequestId) {
        loop {
            tokio::time::sleep(self.reconnect_grace).await;
            let state = self.state();
            if !state.ids.contains(&id) {
                return;
            }
            if state.resumed == 0 {
                break;
            }
        }
        self.close(&id);
        (self.on_abandoned)(id);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.locked()
    }
}

/// Held by the connection on which a request came. If it is dropped before the response, the connection was lost.
pub struct OpenRequest {
    requests: Arc<OpenRequests>,
    /// None once the request is closed.
    id: Option<RequestId>,
    goes_on: bool,
}

impl OpenRequest {
    /// Closes the request when its response passes through the stream, or when the stream ends without one.
    pub fn until_response<S>(self, stream: S) -> ResponseStream<S> {
        ResponseStream { stream, request: self }
    }

    fn close(&mut self) {
        if let Some(id) = self.id.take() {
            self.requests.close(&id);
        }
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        if self.goes_on {
            return self.close();
        }
        // Without a runtime the whole process is about to end.
        if let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current()) {
            tracing::debug!(request = %id, "a client lost its connection during a call; waiting for it to reconnect");
            runtime.spawn(self.requests.clone().wait_for_client(id));
        }
    }
}

/// The stream on the connection of the request itself.
pub struct ResponseStream<S> {
    stream: S,
    request: OpenRequest,
}

impl<S: Stream<Item = ServerSseMessage> + Unpin> Stream for ResponseStream<S> {
    type Item = ServerSseMessage;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = Pin::new(&mut self.stream).poll_next(context);
        let over = match &polled {
            Poll::Ready(None) => true,
            Poll::Ready(Some(event)) => responds_to(event).is_some(),
            Poll::Pending => false,
        };
        if over {
            self.request.close();
        }
        polled
    }
}

/// A stream that a client opened to receive what it missed.
pub struct ResumedStream<S> {
    stream: S,
    requests: Arc<OpenRequests>,
}

impl<S: Stream<Item = ServerSseMessage> + Unpin> Stream for ResumedStream<S> {
    type Item = ServerSseMessage;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = Pin::new(&mut self.stream).poll_next(context);
        if let Poll::Ready(Some(event)) = &polled
            && let Some(id) = responds_to(event)
        {
            self.requests.close(id);
        }
        polled
    }
}

impl<S> Drop for ResumedStream<S> {
    fn drop(&mut self) {
        self.requests.state().resumed -= 1;
    }
}

fn responds_to(event: &ServerSseMessage) -> Option<&RequestId> {
    response_id(event.message.as_deref()?)
}
