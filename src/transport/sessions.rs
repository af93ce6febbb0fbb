//! The protocol sessions of the lifecycle that has them, on top of the SDK's. Each is one of the server's clients; it
//! belongs to the principal that began it, and ends with all its processes when it is deleted, idle, or everything ends.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures::{Stream, StreamExt, future};
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientJsonRpcMessage, ClientNotification, JsonRpcMessage,
    ServerJsonRpcMessage,
};
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, LocalSessionManagerError};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId, SessionManager};
use tokio_util::sync::CancellationToken;

use super::auth::Principal;
use super::message::Refusal;
use super::open_requests::OpenRequests;
use super::roots;
use crate::base::locks::LockExt;
use crate::server::{Client, ClientId, Clients};

pub struct Sessions {
    sdk: Arc<LocalSessionManager>,
    clients: Arc<Clients>,
    requests: Mutex<HashMap<SessionId, Arc<OpenRequests>>>,
    most: usize,
    patience: Duration,
    /// Fires when the server is about to end: streams that only listen are closed.
    closing: CancellationToken,
}

/// What one principal sees of them: another's session does not exist.
pub struct OwnSessions {
    all: Arc<Sessions>,
    principal: Principal,
}

type Events = Pin<Box<dyn Stream<Item = ServerSseMessage> + Send + Sync>>;

#[derive(Debug, thiserror::Error)]
pub enum SessionsError {
    #[error("session not found")]
    NotFound,
    #[error("there are {0} sessions already")]
    Full(usize),
    #[error(transparent)]
    Sdk(#[from] LocalSessionManagerError),
}

impl Sessions {
    pub fn new(clients: Arc<Clients>, most: usize, patience: Duration, closing: CancellationToken) -> Arc<Self> {
        let mut sdk = LocalSessionManager::default();
        // The SDK's clock stands still while a client does not read; ours does not, and it knows the processes.
        sdk.session_config.keep_alive = None;
        Arc::new(Self { sdk: Arc::new(sdk), clients, requests: Mutex::default(), most, patience, closing })
    }

    pub fn of(self: &Arc<Self>, principal: Principal) -> OwnSessions {
        OwnSessions { all: self.clone(), principal }
    }

    pub fn is_full(&self) -> bool {
        self.lock().len() >= self.most
    }

    /// Ends idle clients, with and without a protocol session, for as long as the server runs.
    pub async fn sweep(&self, limit: Duration) {
        let between = (limit / 4).clamp(Duration::from_millis(50), Duration::from_secs(30));
        loop {
            tokio::time::sleep(between).await;
            for client in self.clients.end_idle(limit).await {
                tracing::info!(principal = client.principal(), "a client was idle for too long and has ended");
                if let ClientId::ProtocolSession(id) = client.id() {
                    self.forget(&id.as_str().into()).await;
                }
            }
        }
    }

    async fn forget(&self, id: &SessionId) {
        self.lock().remove(id);
        // It only waits for a client that does not read; its connection closes by itself then.
        let closing = self.sdk.close_session(id);
        if !matches!(tokio::time::timeout(Duration::from_secs(1), closing).await, Ok(Ok(()))) {
            tracing::debug!("a protocol session did not close in time");
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<OpenRequests>>> {
        self.requests.locked()
    }
}

impl OwnSessions {
    /// The client of a session, if it is this principal's.
    pub fn client(&self, id: &str) -> Option<Arc<Client>> {
        let client = self.all.clients.get(&ClientId::ProtocolSession(id.to_owned()))?;
        (client.principal() == &*self.principal.0).then_some(client)
    }

    fn requests(&self, id: &SessionId) -> Result<(Arc<Client>, Arc<OpenRequests>), SessionsError> {
        let client = self.client(id).ok_or(SessionsError::NotFound)?;
        let requests = self.all.lock().get(id).cloned().ok_or(SessionsError::NotFound)?;
        Ok((client, requests))
    }

    /// A stream on which the client listens; it is present while it does.
    fn listening(
        &self,
        client: &Arc<Client>,
        stream: impl Stream<Item = ServerSseMessage> + Send + Sync + 'static,
    ) -> Events {
        let attending = client.attend();
        let ended = future::select(
            Box::pin(client.over().clone().cancelled_owned()),
            Box::pin(self.all.closing.clone().cancelled_owned()),
        );
        Box::pin(stream.take_until(ended).inspect(move |_| _ = &attending))
    }
}

impl SessionManager for OwnSessions {
    type Error = SessionsError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), SessionsError> {
        if self.all.is_full() {
            return Err(SessionsError::Full(self.all.most));
        }
        let (id, transport) = self.all.sdk.create_session().await?;
        let (sdk, session) = (Arc::downgrade(&self.all.sdk), id.clone());
        let on_abandoned = Box::new(move |request| {
            let (Some(sdk), session) = (sdk.upgrade(), session.clone()) else { return };
            tracing::info!("a client left in the middle of a call and did not come back; the call is cancelled");
            let reason = Some("the connection was lost".to_owned());
            let cancel = CancelledNotification::new(CancelledNotificationParam::new(Some(request), reason));
            let cancel = ClientJsonRpcMessage::notification(ClientNotification::CancelledNotification(cancel));
            tokio::spawn(async move {
                let _ = sdk.accept_message(&session, cancel).await;
            });
        });
        self.all.lock().insert(id.clone(), OpenRequests::new(self.all.patience, on_abandoned));
        self.all.clients.get_or_add(ClientId::ProtocolSession(id.to_string()), &self.principal.0);
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, SessionsError> {
        Ok(self.all.sdk.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, SessionsError> {
        Ok(self.client(id).is_some())
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), SessionsError> {
        if self.client(id).is_some() {
            self.all.clients.end(&ClientId::ProtocolSession(id.to_string())).await;
            self.all.forget(id).await;
        }
        Ok(())
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError> {
        let (client, requests) = self.requests(id)?;
        let JsonRpcMessage::Request(request) = &message else { return Err(SessionsError::NotFound) };
        let request = request.id.clone();
        let Some(ticket) = requests.open(&request) else {
            let refusal = JsonRpcMessage::Error(Refusal::duplicate(&request).into_message());
            return Ok(futures::stream::iter([ServerSseMessage::from_message(refusal)]).left_stream());
        };
        let answers = self.all.sdk.create_stream(id, message).await?;
        let over = client.over().clone().cancelled_owned();
        Ok(ticket.waits_on(Box::pin(answers.take_until(over))).right_stream())
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), SessionsError> {
        let (client, _) = self.requests(id)?;
        drop(client.attend());
        if roots::are_announced_changed(&message) {
            // Now and not when the SDK comes to it: a call that was sent later may be handled first.
            client.roots().announce_change();
        }
        Ok(self.all.sdk.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError> {
        let (client, _) = self.requests(id)?;
        let stream = self.all.sdk.create_standalone_stream(id).await?;
        Ok(self.listening(&client, stream))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError> {
        let (client, requests) = self.requests(id)?;
        let stream = self.all.sdk.resume(id, last_event_id).await?;
        Ok(requests.resumed(self.listening(&client, stream)))
    }
}
