use std::pin::Pin;
use std::sync::Arc;

use futures::{Stream, StreamExt, future};
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientJsonRpcMessage, ClientNotification, GetExtensions,
    JsonRpcMessage, ServerJsonRpcMessage,
};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId, SessionManager};

use super::auth::Principal;
use super::call_id;
use super::message_error::MessageError;
use super::open_requests::OpenRequests;
use super::protocol_sessions::{ProtocolSessions, SessionError};
use super::roots;
use crate::server::{Client, ClientId};

/// The protocol sessions of one principal. The SDK gets these instead of all sessions, so another principal's session does
/// not exist for it.
pub struct OwnSessions {
    all: Arc<ProtocolSessions>,
    principal: Principal,
    /// Whether the streams of this request begin with an empty event.
    primes: bool,
}

type Events = Pin<Box<dyn Stream<Item = ServerSseMessage> + Send + Sync>>;

impl OwnSessions {
    pub fn new(all: Arc<ProtocolSessions>, principal: Principal, primes: bool) -> Self {
        Self { all, principal, primes }
    }

    /// The client of a session, if the session is this principal's.
    pub fn client(&self, id: &str) -> Option<Arc<Client>> {
        let client = self.all.clients.get(&ClientId::ProtocolSession(id.to_owned()))?;
        (client.principal() == &*self.principal.0).then_some(client)
    }

    fn find(&self, id: &SessionId) -> Result<(Arc<Client>, Arc<OpenRequests>), SessionError> {
        let client = self.client(id).ok_or(SessionError::NotFound)?;
        let requests = self.all.requests().get(id).cloned().ok_or(SessionError::NotFound)?;
        Ok((client, requests))
    }

    /// A stream on which the client listens. The client is not idle while the stream is open.
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
    type Error = SessionError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), SessionError> {
        self.all.check_room(&self.principal)?;
        let (id, transport) = self.all.sdk.create_session().await?;
        let requests = OpenRequests::new(self.all.reconnect_grace, cancel_in(&self.all.sdk, &id));
        self.all.requests().insert(id.clone(), requests);
        self.all.clients.get_or_add(ClientId::ProtocolSession(id.to_string()), &self.principal.0);
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, SessionError> {
        Ok(self.all.sdk.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, SessionError> {
        Ok(self.client(id).is_some())
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), SessionError> {
        if self.client(id).is_some() {
            self.all.clients.end(&ClientId::ProtocolSession(id.to_string())).await;
            self.all.forget(id).await;
        }
        Ok(())
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        mut message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        let (client, requests) = self.find(id)?;
        attach(&client, &mut message);
        let JsonRpcMessage::Request(request) = &message else { return Err(SessionError::NotFound) };
        let (request, goes_on) = (request.id.clone(), call_id::has_one(&message));
        let Some(open) = requests.open(&request, goes_on) else {
            let refusal = JsonRpcMessage::Error(MessageError::duplicate(&request).into_message());
            return Ok(futures::stream::iter([ServerSseMessage::from_message(refusal)]).left_stream());
        };
        let primes = self.primes;
        let responses = self.all.sdk.create_stream(id, message).await?;
        let responses = responses.filter(move |event| future::ready(primes || event.message.is_some()));
        let over = client.over().clone().cancelled_owned();
        Ok(open.until_response(Box::pin(responses.take_until(over))).right_stream())
    }

    async fn accept_message(&self, id: &SessionId, mut message: ClientJsonRpcMessage) -> Result<(), SessionError> {
        let (client, _) = self.find(id)?;
        attach(&client, &mut message);
        drop(client.attend());
        if roots::announces_change(&message) {
            // Done now, because the SDK may handle a later call before this notification.
            client.roots().announce_change();
        }
        Ok(self.all.sdk.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        let (client, _) = self.find(id)?;
        let stream = self.all.sdk.create_standalone_stream(id).await?;
        Ok(self.listening(&client, stream))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        let (client, requests) = self.find(id)?;
        let stream = self.all.sdk.resume(id, last_event_id).await?;
        Ok(requests.resumed(self.listening(&client, stream)))
    }
}

/// Tells the handler whose message this is.
fn attach(client: &Arc<Client>, message: &mut ClientJsonRpcMessage) {
    match message {
        JsonRpcMessage::Request(request) => drop(request.request.extensions_mut().insert(client.clone())),
        JsonRpcMessage::Notification(note) => drop(note.notification.extensions_mut().insert(client.clone())),
        // Responses go to the task that waits for them, not to the handler.
        JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
    }
}

/// Cancels a request of this session as its client would do it.
fn cancel_in(sdk: &Arc<LocalSessionManager>, session: &SessionId) -> super::open_requests::OnAbandoned {
    let (sdk, session) = (Arc::downgrade(sdk), session.clone());
    Box::new(move |request| {
        let (Some(sdk), session) = (sdk.upgrade(), session.clone()) else { return };
        tracing::info!("a client lost its connection during a call and did not reconnect; the call is cancelled");
        let reason = Some("the connection was lost".to_owned());
        let cancel = CancelledNotification::new(CancelledNotificationParam::new(Some(request), reason));
        let cancel = ClientJsonRpcMessage::notification(ClientNotification::CancelledNotification(cancel));
        tokio::spawn(async move {
            let _ = sdk.accept_message(&session, cancel).await;
        });
    })
}
