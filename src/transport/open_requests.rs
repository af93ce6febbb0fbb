//! The requests of one protocol session that have no answer yet. In the lifecycle with sessions a lost connection is not
//! a cancel: the client may come back for the answer. One that does not come back has its call cancelled after a while,
//! so that no command runs on for nobody.

use std::collections::HashSet;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};
use std::time::Duration;

use futures::Stream;
use rmcp::model::{JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::ServerSseMessage;

use crate::base::locks::LockExt;

/// Called with the id of a request that nobody waits for any more.
pub type OnAbandoned = Box<dyn Fn(RequestId) + Send + Sync>;

pub struct OpenRequests {
    state: Mutex<State>,
    /// For the client to come back.
    patience: Duration,
    on_abandoned: OnAbandoned,
}

#[derive(Default)]
struct State {
    ids: HashSet<RequestId>,
    /// Streams on which a client that came back is listening.
    resumed: usize,
}

impl OpenRequests {
    pub fn new(patience: Duration, on_abandoned: OnAbandoned) -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), patience, on_abandoned })
    }

    /// None when a request with this id is under way already.
    pub fn open(self: &Arc<Self>, id: &RequestId) -> Option<Ticket> {
        let new = self.lock().ids.insert(id.clone());
        new.then(|| Ticket { requests: self.clone(), waiting_for: Some(id.clone()) })
    }

    fn close(&self, id: &RequestId) {
        self.lock().ids.remove(id);
    }

    /// What the connection carries on which a client that came back listens.
    pub fn resumed<S>(self: &Arc<Self>, stream: S) -> Resumed<S> {
        self.lock().resumed += 1;
        Resumed { stream, requests: self.clone() }
    }

    async fn wait_in_vain(self: Arc<Self>, id: RequestId) {
        loop {
            tokio::time::sleep(self.patience).await;
            let state = self.lock();
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

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.locked()
    }
}

/// Held by the connection on which a request came. To drop it before the answer is to leave.
pub struct Ticket {
    requests: Arc<OpenRequests>,
    waiting_for: Option<RequestId>,
}

impl Ticket {
    /// Closes the request when its answer passes, or when the stream ends without one.
    pub fn waits_on<S>(self, stream: S) -> Answering<S> {
        Answering { stream, ticket: self }
    }

    fn close(&mut self) {
        if let Some(id) = self.waiting_for.take() {
            self.requests.close(&id);
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        // Without a runtime everything is ending anyway.
        if let (Some(id), Ok(runtime)) = (self.waiting_for.take(), tokio::runtime::Handle::try_current()) {
            runtime.spawn(self.requests.clone().wait_in_vain(id));
        }
    }
}

pub struct Answering<S> {
    stream: S,
    ticket: Ticket,
}

impl<S: Stream<Item = ServerSseMessage> + Unpin> Stream for Answering<S> {
    type Item = ServerSseMessage;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = Pin::new(&mut self.stream).poll_next(context);
        let over = match &polled {
            Poll::Ready(None) => true,
            Poll::Ready(Some(event)) => answered(event).is_some(),
            Poll::Pending => false,
        };
        if over {
            self.ticket.close();
        }
        polled
    }
}

pub struct Resumed<S> {
    stream: S,
    requests: Arc<OpenRequests>,
}

impl<S: Stream<Item = ServerSseMessage> + Unpin> Stream for Resumed<S> {
    type Item = ServerSseMessage;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = Pin::new(&mut self.stream).poll_next(context);
        if let Poll::Ready(Some(event)) = &polled
            && let Some(id) = answered(event)
        {
            self.requests.close(id);
        }
        polled
    }
}

impl<S> Drop for Resumed<S> {
    fn drop(&mut self) {
        self.requests.lock().resumed -= 1;
    }
}

fn answered(event: &ServerSseMessage) -> Option<&RequestId> {
    let message: &ServerJsonRpcMessage = event.message.as_deref()?;
    match message {
        JsonRpcMessage::Response(response) => Some(&response.id),
        JsonRpcMessage::Error(error) => error.id.as_ref(),
        _ => None,
    }
}
