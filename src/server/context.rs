use std::sync::{Arc, Mutex};

use tokio_util::sync::CancellationToken;

use super::keep_change::KeepChange;
use super::{Asker, Client, OpenQuestion, ProgressSink, Server, Session, Stop, ToolError};
use crate::base::locks::LockExt;
use crate::exec::{Denials, Streams, Task};
use crate::gate::{Answer, Permitted, Question, Ruling};
use crate::inventory::Undone;
use crate::policy::Action;

/// One request for a tool, as the transport understood it.
pub struct Call {
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
    /// The sessions that the tool asked for.
    sessions: Mutex<Vec<Arc<Session>>>,
    /// Lines about the sandbox that belong to this very result.
    notes: Mutex<Vec<String>>,
    /// Tasks that this call has started. Their end is news for a later result, however soon it comes.
    started: Mutex<Vec<String>>,
}

impl Context {
    pub(super) fn new(server: Arc<Server>, client: Arc<Client>, progress: Option<ProgressSink>, asker: Asker) -> Self {
        Self {
            server,
            cancel: client.over().child_token(),
            client,
            progress,
            asker,
            sessions: Mutex::default(),
            notes: Mutex::default(),
            started: Mutex::default(),
        }
    }

    /// Asks the gate, and the person where the gate cannot say; the permit is what `exec` and `files` want to see.
    pub async fn permit<A: Action>(&self, session: &Session, action: A) -> Result<Permitted<A>, Stop> {
        self.ask_gate(session, action, false).await
    }

    /// As [`Context::permit`], for a tool that has the person confirm what no rule names. A client that cannot ask is taken
    /// to confirm tool calls itself.
    pub async fn permit_confirmed<A: Action>(&self, session: &Session, action: A) -> Result<Permitted<A>, Stop> {
        let confirm = self.asker.can_ask() && !self.server.gate().policy().has_sources();
        self.ask_gate(session, action, confirm).await
    }

    async fn ask_gate<A: Action>(&self, session: &Session, action: A, confirm: bool) -> Result<Permitted<A>, Stop> {
        let surroundings = self.server.surroundings(&session.workplace());
        let pending = match self.server.gate().decide(action, &surroundings, confirm) {
            Ruling::Permitted(permitted) => return Ok(permitted),
            Ruling::Refused(refusal) => return Err(refusal.into()),
            Ruling::Ask(pending) => pending,
        };
        let question = pending.question.clone();
        if session.approvals().cover(&question) {
            return Ok(pending.approved());
        }
        if !self.asker.can_ask() {
            return Err(pending.nobody_to_ask().into());
        }
        let Some(form) = question.form() else {
            return Err(pending.cannot_be_asked("it is too long to be read by a person").into());
        };
        let answer = match &self.asker {
            Asker::Later(Some(given)) if given.binding == binding(session, &question) => given.answer.clone(),
            _ if !session.approvals().may_ask() => {
                return Err(pending.cannot_be_asked("too many questions were asked in the last minute").into());
            }
            Asker::Now(ask) => ask(form).await,
            Asker::Later(_) | Asker::Nobody => {
                return Err(Stop::Ask(Box::new(OpenQuestion { form, binding: binding(session, &question) })));
            }
        };
        let permitted = pending.answered(&answer)?;
        if let Answer::Chosen(decision) = answer {
            session.approvals().take(&question, decision);
        }
        Ok(permitted)
    }

    /// Asks the person whether something that was undone may stay after all. Only while the call waits: a question that
    /// answers the call would have the client repeat the call, and the command would run twice.
    pub async fn wants(&self, session: &Session, undone: &Undone) -> bool {
        let can_ask = matches!(self.asker, Asker::Now(_));
        can_ask && undone.may_stay && self.permit(session, KeepChange::new(undone)).await.is_ok()
    }

    /// The named session of this client, or its default one.
    pub fn session(&self, name: Option<&str>) -> Result<Arc<Session>, ToolError> {
        let session =
            self.client.session(name, |workplace, name, ids| self.server.new_session(workplace, name, ids))?;
        self.used(&session);
        Ok(session)
    }

    /// The session that has the task or stored output of that id. `name` is tried first; ids are unique for a client, so it
    /// need not be given.
    pub fn session_of(&self, id: &str, name: Option<&str>) -> Result<Arc<Session>, ToolError> {
        let named = self.session(name)?;
        if named.has(id) {
            return Ok(named);
        }
        let Some(other) = self.client.sessions().into_iter().find(|session| session.has(id)) else { return Ok(named) };
        self.used(&other);
        Ok(other)
    }

    fn used(&self, session: &Arc<Session>) {
        let mut used = self.sessions.locked();
        if !used.iter().any(|known| Arc::ptr_eq(known, session)) {
            used.push(session.clone());
        }
    }

    /// The sessions that the tool has used so far.
    pub(super) fn sessions(&self) -> Vec<Arc<Session>> {
        self.sessions.locked().clone()
    }

    /// Adds a line about the sandbox to this call's result, whatever that result will be.
    pub fn note(&self, note: String) {
        let mut notes = self.notes.locked();
        if !notes.contains(&note) {
            notes.push(note);
        }
    }

    /// Explains on this result what the sandbox denied a command.
    pub fn note_denials(&self, denials: &Denials, streams: &Streams) {
        denials.explain(streams).into_iter().for_each(|reason| self.note(reason));
    }

    /// Remembers that this call has started a task.
    pub(super) fn started(&self, task: &Task) {
        self.started.locked().push(task.id.clone());
    }

    pub(super) fn has_started(&self, id: &str) -> bool {
        self.started.locked().iter().any(|started| started == id)
    }

    pub(super) fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut *self.notes.locked())
    }
}

/// Names the exact text, directory and session, so that an answer fits no other question.
fn binding(session: &Session, question: &Question) -> String {
    format!("{}\n{:?}\n{}", session.nonce(), question.preview.cwd, question.preview.whole())
}
