use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;

use super::{Asker, Client, OpenQuestion, ProgressSink, Server, Session};
use crate::gate::{Decision, Permitted, Question, Ruling};
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
    /// How the client can be asked.
    pub asker: Asker,
}

/// What a tool works with while it answers one call.
pub struct Context {
    pub server: Arc<Server>,
    pub client: Arc<Client>,
    pub cancel: CancellationToken,
    pub progress: Option<ProgressSink>,
    pub asker: Asker,
    /// The session that the tool worked in, once it has asked for one.
    pub(super) used: OnceLock<Arc<Session>>,
}

impl Context {
    /// Asks the gate, and the person where the gate cannot say; the permit is what `exec` and `files` want to see.
    pub async fn permit<A: Action>(&self, action: A) -> Result<Permitted<A>, ToolError> {
        self.ask_gate(action, false).await
    }

    /// As [`Context::permit`], for a tool that has the person confirm what no rule speaks of. A client that cannot ask is
    /// taken to confirm tool calls itself.
    pub async fn permit_confirmed<A: Action>(&self, action: A) -> Result<Permitted<A>, ToolError> {
        let confirm = self.asker.can_ask() && !self.server.gate().policy().has_sources();
        self.ask_gate(action, confirm).await
    }

    async fn ask_gate<A: Action>(&self, action: A, confirm: bool) -> Result<Permitted<A>, ToolError> {
        let session = match self.used.get() {
            Some(session) => session.clone(),
            None => self.session(None)?,
        };
        let session = session.as_ref();
        let surroundings = self.server.surroundings(&session.workplace());
        let pending = match self.server.gate().decide(action, &surroundings, confirm) {
            Ruling::Permitted(permitted) => return Ok(permitted),
            Ruling::Refused(refusal) => return Err(refusal.into()),
            Ruling::Ask(pending) => pending,
        };
        let question = pending.question.clone();
        if session.approvals().cover(&question) {
            return Ok(pending.decided(Decision::Session)?);
        }
        if !self.asker.can_ask() {
            return Err(pending.nobody_to_ask().into());
        }
        let Some(message) = question.message() else {
            return Err(pending.cannot_be_asked("it is too long to be read by a person").into());
        };
        let decision = match &self.asker {
            Asker::Later(Some(given)) if given.binding == binding(session, &question) => given.decision,
            _ if !session.approvals().may_ask() => {
                return Err(pending.cannot_be_asked("too many questions were asked in the last minute").into());
            }
            Asker::Now(ask) => ask(message).await,
            Asker::Later(_) | Asker::Nobody => {
                return Err(ToolError::ask_first(OpenQuestion { message, binding: binding(session, &question) }));
            }
        };
        session.approvals().take(&question, decision);
        Ok(pending.decided(decision)?)
    }

    /// The named session of this client, or its default one.
    pub fn session(&self, name: Option<&str>) -> Result<Arc<Session>, ToolError> {
        let session = self.client.session(name, |workplace, name| self.server.new_session(workplace, name))?;
        Ok(self.used.get_or_init(|| session).clone())
    }
}

/// Exact text, directory and session, so that an answer fits nothing else.
fn binding(session: &Session, question: &Question) -> String {
    format!("{}\n{:?}\n{}", session.nonce(), question.preview.cwd, question.preview.text)
}
