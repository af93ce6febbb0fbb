use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;

use super::{Client, ProgressSink, Server, Session};
use crate::gate::Permitted;
use crate::policy::Action;
use crate::tools::ToolError;

/// One request for a tool, as the transport understood it.
pub struct Call {
    /// Who asks.
    pub client: Arc<Client>,
    pub tool: String,
    pub arguments: serde_json::Map<String, serde_json::Value>,
    /// Fires when the client no longer wants the answer.
    pub cancel: CancellationToken,
    /// Present when the client asked for progress.
    pub progress: Option<ProgressSink>,
}

/// What a tool works with while it answers one call.
pub struct Context {
    pub server: Arc<Server>,
    pub client: Arc<Client>,
    pub cancel: CancellationToken,
    pub progress: Option<ProgressSink>,
    /// The session that the tool worked in, once it has asked for one.
    pub(super) used: OnceLock<Arc<Session>>,
}

impl Context {
    /// Asks the gate; the permit is what `exec` and `files` want to see.
    #[expect(clippy::unused_async, reason = "an approval will have to be waited for")]
    pub async fn permit<A: Action>(&self, action: A) -> Result<Permitted<A>, ToolError> {
        let workplace = self.used.get().map_or_else(|| self.server.workplace(&[]), |session| session.workplace());
        Ok(self.server.gate().permit(action, &self.server.surroundings(&workplace))?)
    }

    /// The named session of this client, or its default one.
    pub fn session(&self, name: Option<&str>) -> Result<Arc<Session>, ToolError> {
        let session = self.client.session(name, |workplace| self.server.new_session(workplace))?;
        Ok(self.used.get_or_init(|| session).clone())
    }
}
