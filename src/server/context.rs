use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::asker::Asking;
use super::keep_change::KeepChange;
use super::questions::{CLIENT, PATIENCE, Question as AskedQuestion};
use super::{
    Asker, CallRecord, Client, OpenQuestion, ProgressSink, Questions, Server, Session, Settled, Stop, ToolError,
};
use crate::audit::Event;
use crate::base::locks::LockExt;
use crate::exec::{self, Denials, ShellState, Streams, Task};
use crate::gate::{Answer, Form, Pending, Permitted, Question, Refusal, Ruling};
use crate::inventory::Undone;
use crate::policy::Action;

/// A client that is told to take a question away gets this long to hear it.
const TAKEN_AWAY_WITHIN: Duration = Duration::from_millis(500);

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
    /// What this call leaves in the audit log.
    pub record: CallRecord,
    /// The sessions that the tool asked for.
    sessions: Mutex<Vec<Arc<Session>>>,
    /// Lines about the sandbox that belong to this very result.
    notes: Mutex<Vec<String>>,
    /// Tasks that this call has started. Their end is news for a later result, however soon it comes.
    started: Mutex<Vec<String>>,
}

impl Context {
    pub(super) fn new(
        server: Arc<Server>,
        client: Arc<Client>,
        progress: Option<ProgressSink>,
        asker: Asker,
        record: CallRecord,
    ) -> Self {
        Self {
            server,
            cancel: client.over().child_token(),
            client,
            progress,
            asker,
            record,
            sessions: Mutex::default(),
            notes: Mutex::default(),
            started: Mutex::default(),
        }
    }

    /// For questions that come up while this call waits for its command. A client that would repeat the call to answer is not
    /// asked: the command would run twice.
    pub(super) fn beside(&self) -> Self {
        let asker = match &self.asker {
            Asker::Now(ask) => Asker::Now(ask.clone()),
            Asker::Later(_) | Asker::Nobody => Asker::Nobody,
        };
        Self::new(self.server.clone(), self.client.clone(), None, asker, self.record.clone())
    }

    /// For questions of a task, when no call waits. Only people at `testudo approve` or the console can be asked.
    pub(super) fn of_task(server: Arc<Server>, client: Arc<Client>, record: CallRecord) -> Self {
        Self::new(server, client, None, Asker::Nobody, record)
    }

    /// Asks the gate, and the person where the gate cannot say; the permit is what `exec` and `files` want to see.
    pub async fn permit<A: Action>(&self, session: &Session, action: A) -> Result<Permitted<A>, Stop> {
        self.ask_gate(session, action, false).await
    }

    /// As [`Context::permit`], for a tool that has the person confirm what no rule names. A client that cannot ask is taken
    /// to confirm tool calls itself.
    pub async fn permit_confirmed<A: Action>(&self, session: &Session, action: A) -> Result<Permitted<A>, Stop> {
        let confirm = self.can_ask() && !self.server.gate().policy().has_sources();
        self.ask_gate(session, action, confirm).await
    }

    async fn ask_gate<A: Action>(&self, session: &Session, action: A, confirm: bool) -> Result<Permitted<A>, Stop> {
        let gate = self.server.gate();
        let surroundings = session.basis().surroundings(&session.workplace(), gate.policy());
        let decided = gate.decide(action, &surroundings, confirm);
        let verdict = |action: String, approved_before| {
            let (verdict, reason, rule) = (decided.verdict.to_string(), decided.reason.clone(), decided.rule.clone());
            self.record.add(Event::Verdict { action, verdict, reason, rule, approved_before });
        };
        let pending = match decided.ruling {
            Ruling::Permitted(permitted) => {
                verdict(permitted.summary(), false);
                return Ok(permitted);
            }
            Ruling::Refused(refusal) => {
                verdict(refusal.summary().to_owned(), false);
                return Err(self.refused(refusal));
            }
            Ruling::Ask(pending) => pending,
        };
        let question = pending.question.clone();
        let approved_before = session.approvals().cover(&question);
        verdict(pending.summary(), approved_before);
        if approved_before {
            return Ok(pending.approved());
        }
        if !self.can_ask() {
            return Err(self.refused(pending.nobody_to_ask()));
        }
        let Some(form) = question.form() else {
            return Err(self.refused(pending.cannot_be_asked("it is too long to be read by a person")));
        };
        // Rare and large, so it is on the heap and not a part of every call.
        let (pending, Settled { answer, .. }) = Box::pin(self.ask(session, pending, form)).await?;
        let permitted = pending.answered(&answer).map_err(|refusal| self.refused(refusal))?;
        if let Answer::Chosen(decision) = answer {
            session.approvals().take(&question, decision);
        }
        Ok(permitted)
    }

    /// Whether there is a person to ask: at the client, or at `testudo approve` or the console.
    pub(super) fn can_ask(&self) -> bool {
        self.asker.can_ask() || self.server.questions().has_approver(self.client.principal())
    }

    fn refused(&self, refusal: Refusal) -> Stop {
        self.record.add(Event::Refused { reason: refusal.to_string() });
        refusal.into()
    }

    /// Puts the question to everybody who can answer it, and returns the first answer.
    async fn ask<A: Action>(
        &self,
        session: &Session,
        pending: Pending<A>,
        form: Form,
    ) -> Result<(Pending<A>, Settled), Stop> {
        let (questions, binding) = (self.server.questions(), binding(session, &pending.question));
        if let Asker::Later(given) = &self.asker {
            let given = given.as_ref().filter(|given| given.binding == binding);
            let settled = match given {
                Some(given) => Some(questions.settle_carried(&binding, given.answer.clone())),
                None => questions.take_answered(&binding),
            };
            if let Some(settled) = settled {
                return Ok((pending, settled));
            }
        }
        if !session.approvals().may_ask() {
            let why = "too many questions were asked in the last minute";
            return Err(self.refused(pending.cannot_be_asked(why)));
        }
        let asked = questions.open(&self.record, form.clone(), binding.clone());
        let client = match &self.asker {
            // The client comes back with the answer.
            Asker::Later(_) => return Err(Stop::Ask(Box::new(OpenQuestion { form, binding }))),
            Asker::Now(ask) => Some(ask(form, asked.watch())),
            Asker::Nobody => None,
        };
        let _closing = TakeAway { questions: questions.clone(), asked: asked.clone() };
        let settled = self.first_answer(&asked, client).await;
        Ok((pending, settled))
    }

    /// `client` asks the person at the client. It stays in this task: over HTTP, the question travels with the call that
    /// the task belongs to.
    async fn first_answer(&self, asked: &AskedQuestion, client: Option<Asking>) -> Settled {
        let questions = self.server.questions();
        let only_others = client.is_none();
        let mut client = client.unwrap_or_else(|| Box::pin(std::future::pending()));
        let nobody_left = async {
            questions.all_left(self.client.principal()).await;
            if !only_others {
                std::future::pending::<()>().await;
            }
        };
        let (answer, by) = tokio::select! {
            settled = asked.answered() => {
                // The client takes its form away, once it has been told who answered.
                let _ = tokio::time::timeout(TAKEN_AWAY_WITHIN, client).await;
                return settled;
            }
            answer = &mut client => {
                // A client that runs without a person answers at once. Somebody else may still decide.
                if !answer.is_a_persons() {
                    tokio::select! {
                        settled = asked.answered() => return settled,
                        () = questions.all_left(self.client.principal()) => {}
                        () = tokio::time::sleep(asked.time_left()) => {}
                        () = self.cancel.cancelled() => {}
                    }
                }
                (answer, CLIENT)
            }
            () = nobody_left => (Answer::Missing, "nobody: everybody has left"),
            () = tokio::time::sleep(PATIENCE) => (Answer::Missing, "nobody: the time is up"),
            () = self.cancel.cancelled() => (Answer::Missing, "nobody: the call was cancelled"),
        };
        let settled = Settled { answer: answer.clone(), by: by.to_owned() };
        questions.settle(asked, answer, by).map_or_else(|first| first, |()| settled)
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

    /// Where the next command of a session starts. The policy may have become strict after the session began.
    pub fn state_of(&self, session: &Session) -> ShellState {
        let mut state = session.state();
        if self.server.gate().policy().is_strict() {
            exec::make_git_safe(&mut state.environment);
        }
        state
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
        for reason in denials.explain(streams) {
            self.record.add(Event::Denied { what: reason.clone() });
            self.note(reason);
        }
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

/// Takes a question away if nobody waits for its answer any more.
struct TakeAway {
    questions: Arc<Questions>,
    asked: Arc<AskedQuestion>,
}

impl Drop for TakeAway {
    fn drop(&mut self) {
        let _ = self.questions.settle(&self.asked, Answer::Missing, "nobody: what asked has ended");
    }
}

/// Names the exact text, directory and session, so that an answer fits no other question.
fn binding(session: &Session, question: &Question) -> String {
    format!("{}\n{:?}\n{}", session.nonce(), question.preview.cwd, question.preview.whole())
}
