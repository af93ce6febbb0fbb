use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, LocalSessionManagerError};
use rmcp::transport::streamable_http_server::session::{SessionId, SessionManager};
use tokio_util::sync::CancellationToken;

use super::auth::Principal;
use super::open_requests::OpenRequests;
use super::share::Share;
use crate::base::locks::LockExt;
use crate::server::{ClientId, Clients};

/// The protocol sessions of all principals: the lifecycle up to 2025-11-25 has them. They are built on the SDK's sessions.
/// Each one is a client of the server and belongs to the principal that began it. It ends with all its processes when the
/// client deletes it, when it is idle for too long, or when the server shuts down.
pub struct ProtocolSessions {
    pub(super) sdk: Arc<LocalSessionManager>,
    pub(super) clients: Arc<Clients>,
    requests: Mutex<HashMap<SessionId, Arc<OpenRequests>>>,
    pub(super) share: Share,
    /// How long a call waits for a client that lost its connection.
    pub(super) reconnect_grace: Duration,
    /// Fires when the server shuts down. Streams on which clients only listen are then closed.
    pub(super) closing: CancellationToken,
}

#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error("session not found")]
    NotFound,
    #[error("there are {0} sessions already, the limit of [http] max_sessions; try again later")]
    Full(usize),
    #[error("this token has its share of the {0} sessions for all tokens; end some of them ([http] max_sessions)")]
    ShareTaken(usize),
    #[error(transparent)]
    Sdk(#[from] LocalSessionManagerError),
}

impl ProtocolSessions {
    pub fn new(
        clients: Arc<Clients>,
        share: Share,
        reconnect_grace: Duration,
        closing: CancellationToken,
    ) -> Arc<Self> {
        let mut sdk = LocalSessionManager::default();
        // Idle sessions are ended by `sweep`. The SDK's own timer stops while a client does not read, and it knows
        // nothing of the processes.
        sdk.session_config.keep_alive = None;
        Arc::new(Self { sdk: Arc::new(sdk), clients, requests: Mutex::default(), share, reconnect_grace, closing })
    }

    /// Whether this principal may begin one more session.
    pub fn check_room(&self, principal: &Principal) -> Result<(), SessionError> {
        let used = self.requests().len();
        if self.share.is_used_up(used) {
            Err(SessionError::Full(self.share.most))
        } else if self.share.allows(used, self.clients.protocol_sessions_of(&principal.0)) {
            Ok(())
        } else {
            Err(SessionError::ShareTaken(self.share.most))
        }
    }

    /// Ends idle clients, with and without a protocol session. Runs as long as the server does.
    pub async fn sweep(&self, limit: Duration) {
        let between = (limit / 4).clamp(Duration::from_millis(50), Duration::from_secs(30));
        loop {
            tokio::time::sleep(between).await;
            for client in self.clients.end_idle(limit).await {
                tracing::info!(principal = client.principal(), "a client was idle for too long and was ended");
                if let ClientId::ProtocolSession(id) = client.id() {
                    self.forget(&id.as_str().into()).await;
                }
            }
        }
    }

    pub(super) async fn forget(&self, id: &SessionId) {
        self.requests().remove(id);
        // This only takes long if the client does not read. Its connection closes by itself then.
        let closing = self.sdk.close_session(id);
        if !matches!(tokio::time::timeout(Duration::from_secs(1), closing).await, Ok(Ok(()))) {
            tracing::debug!("a protocol session did not close in time");
        }
    }

    /// The open requests of each session.
    pub(super) fn requests(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<OpenRequests>>> {
        self.requests.locked()
    }
}
