//! Calls that have an id run at most once. [`Server::call_once`] begins a call, or joins the one that runs with that id, or
//! returns what is recorded of it. The call runs on a task of its own, so it goes on when the connection is lost on which
//! it came.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::asker::{AskNow, Asking};
use super::{Asker, Call, CallError, CallResult, OpenQuestion, Server, Stop, ToolError};
use crate::base::locks::LockExt;
use crate::base::worker_threads;
use crate::gate::Answer;
use crate::records::{CallId, Digest, Key, Record, Store};

/// What is known of a call.
#[derive(Clone, Debug)]
pub enum Known {
    /// It has run, and this is its result.
    Finished(Arc<CallResult>),
    Running {
        since: SystemTime,
    },
    /// It has begun, and nobody knows how it ended.
    Lost(ToolError),
    /// No call with this id has begun. If there is an error, it says why none does.
    Unknown(ToolError),
    /// Nothing was run: the client has to ask its person and call again, with the same id.
    Asked(Box<OpenQuestion>),
    NoResult(CallError),
}

#[derive(Debug)]
pub struct KnownCalls {
    store: Arc<Store>,
    running: Mutex<HashMap<Key, Arc<Running>>>,
}

#[derive(Debug)]
struct Running {
    digest: Digest,
    since: SystemTime,
    cancel: CancellationToken,
    outcome: watch::Receiver<Option<Known>>,
}

/// Removes a call from those that run, however its task ends.
struct Begun {
    server: Arc<Server>,
    key: Key,
    outcome: watch::Sender<Option<Known>>,
}

/// How often a call is looked at that runs in another server.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

impl KnownCalls {
    pub fn new(store: Store) -> Self {
        Self { store: Arc::new(store), running: Mutex::default() }
    }

    fn running(&self, key: &Key) -> Option<Arc<Running>> {
        self.running.locked().get(key).cloned()
    }

    async fn look(&self, key: &Key) -> Option<Record> {
        let (store, key) = (self.store.clone(), key.clone());
        worker_threads::run(move || store.look(&key)).await.ok().flatten()
    }
}

impl Server {
    /// Runs a call unless one with this id has begun before. Waits until it has finished.
    pub async fn call_once(self: &Arc<Self>, id: CallId, call: Call) -> Known {
        let key = Key { principal: call.client.principal().to_owned(), id };
        let digest = Digest::of(&call.tool, &call.arguments);
        let (cancel, over) = (call.cancel.clone(), call.client.over().clone());
        let (questions, put) = mpsc::unbounded_channel();
        let running = self.join_or_begin(&key, &digest, call, questions);
        if running.digest != digest {
            return Known::Unknown(other_arguments(&key.id));
        }
        let waiting = async {
            let mut outcome = running.outcome.clone();
            match outcome.wait_for(Option::is_some).await {
                Ok(known) => known.clone(),
                // Its task has panicked.
                Err(_) => None,
            }
        };
        let cancelled = async {
            cancel.cancelled().await;
            // A client that disconnects does not cancel its call. Its commands end with its sessions.
            if !over.is_cancelled() {
                running.cancel.cancel();
            }
            std::future::pending::<()>().await;
        };
        let known = tokio::select! {
            known = waiting => known,
            () = cancelled => None,
            () = ask_here(put) => None,
        };
        known.unwrap_or_else(|| Known::Lost(ended_without_result(&key.id, running.since)))
    }

    /// What is known of a call. Runs nothing and waits for nothing.
    pub async fn peek(&self, principal: &str, id: CallId) -> Known {
        let key = Key { principal: principal.to_owned(), id };
        // It may begin or finish while we look, so we look again before we call it lost.
        let mut record = None;
        for _ in 0..2 {
            if let Some(running) = self.known_calls().running(&key) {
                return Known::Running { since: running.since };
            }
            record = self.known_calls().look(&key).await;
            if !matches!(&record, Some(Record::Running(claim)) if self.known_calls().store.is_own(claim)) {
                break;
            }
        }
        record.map_or_else(|| Known::Unknown(unknown(&key.id)), |record| self.judge(&key.id, record))
    }

    /// Cancels a call by its id. Returns whether it was running.
    pub fn cancel_call(&self, principal: &str, id: CallId) -> bool {
        let running = self.known_calls().running(&Key { principal: principal.to_owned(), id });
        running.inspect(|running| running.cancel.cancel()).is_some()
    }

    /// How many calls with ids run now.
    pub fn calls_running(&self) -> usize {
        self.known_calls().running.locked().len()
    }

    /// Waits until the calls with ids that run now have finished.
    pub async fn calls_finished(&self) {
        let all: Vec<Arc<Running>> = self.known_calls().running.locked().values().cloned().collect();
        for running in all {
            let _ = running.outcome.clone().wait_for(Option::is_some).await;
        }
    }

    fn join_or_begin(
        self: &Arc<Self>,
        key: &Key,
        digest: &Digest,
        call: Call,
        questions: mpsc::UnboundedSender<PutQuestion>,
    ) -> Arc<Running> {
        let mut all = self.known_calls().running.locked();
        if let Some(running) = all.get(key) {
            return running.clone();
        }
        let (outcome, receiver) = watch::channel(None);
        let (digest, cancel) = (digest.clone(), CancellationToken::new());
        let running = Running { digest, since: SystemTime::now(), cancel, outcome: receiver };
        let running = Arc::new(running);
        all.insert(key.clone(), running.clone());
        let asker = match call.asker {
            Asker::Now(ask) => Asker::Now(put_to_request(ask, questions)),
            asker => asker,
        };
        let call = Call { cancel: running.cancel.clone(), asker, ..call };
        let begun = Begun { server: self.clone(), key: key.clone(), outcome };
        tokio::spawn(begun.perform(running.digest.clone(), call));
        running
    }

    /// What a record comes to, while no call with this id runs here.
    fn judge(&self, id: &CallId, record: Record) -> Known {
        match record {
            Record::Finished(claim, text) => match serde_json::from_str(&text) {
                Ok(result) => Known::Finished(Arc::new(result)),
                Err(_) => Known::Lost(ended_without_result(id, claim.begun)),
            },
            Record::Running(claim) if !self.known_calls().store.is_own(&claim) => Known::Running { since: claim.begun },
            Record::Running(claim) => Known::Lost(ended_without_result(id, claim.begun)),
            Record::Forgotten(claim) => Known::Lost(forgotten(id, claim.begun)),
            Record::Lost(claim) => Known::Lost(lost(id, claim.begun)),
        }
    }
}

impl Begun {
    async fn perform(self, digest: Digest, call: Call) {
        let known = self.run(digest, call).await;
        // Those who come from now on find the record.
        self.server.known_calls().running.locked().remove(&self.key);
        let _ = self.outcome.send(Some(known));
        let store = self.server.known_calls().store.clone();
        let _ = worker_threads::run(move || store.sweep()).await;
    }

    async fn run(&self, digest: Digest, call: Call) -> Known {
        let store = self.server.known_calls().store.clone();
        let (claiming, key, wanted) = (store.clone(), self.key.clone(), digest.clone());
        match worker_threads::run(move || claiming.claim(&key, &wanted)).await {
            Ok(Ok(None)) => {}
            Ok(Ok(Some(record))) => return self.known_before(&digest, record).await,
            Ok(Err(error)) => return Known::Unknown(not_begun(&error.to_string())),
            Err(error) => return Known::Unknown(not_begun(&error.to_string())),
        }
        let result = match self.server.call(call).await {
            Ok(Ok(output)) => CallResult::from(output),
            Ok(Err(Stop::Error(error))) => CallResult::from(error),
            Ok(Err(Stop::Ask(question))) => return self.nothing_ran(Known::Asked(question)).await,
            Err(error) => return self.nothing_ran(Known::NoResult(error)).await,
        };
        let result = Arc::new(result);
        let (kept, key) = (result.clone(), self.key.clone());
        let finishing = move || store.finish(&key, &serde_json::to_string(&kept)?);
        if let Ok(Err(error)) = worker_threads::run(finishing).await {
            tracing::warn!(id = %self.key.id, %error, "the result of a call could not be recorded");
        }
        Known::Finished(result)
    }

    async fn nothing_ran(&self, known: Known) -> Known {
        let (store, key) = (self.server.known_calls().store.clone(), self.key.clone());
        let _ = worker_threads::run(move || store.release(&key)).await;
        known
    }

    /// The call has begun before: in this server, or in another one with the same state directory.
    async fn known_before(&self, digest: &Digest, mut record: Record) -> Known {
        if record.claim().digest != *digest {
            return Known::Unknown(other_arguments(&self.key.id));
        }
        loop {
            let known = self.server.judge(&self.key.id, record);
            if !matches!(known, Known::Running { .. }) {
                return known;
            }
            tokio::time::sleep(LOOK_AGAIN).await;
            record = match self.server.known_calls().look(&self.key).await {
                Some(record) => record,
                None => return Known::Unknown(unknown(&self.key.id)),
            };
        }
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        if self.outcome.borrow().is_none() {
            self.server.known_calls().running.locked().remove(&self.key);
        }
    }
}

/// A question that the request has to put to its client, and the place for the answer.
type PutQuestion = (Asking, oneshot::Sender<Answer>);

/// Has the request put the question: the SDK knows by the task to which request a question belongs.
fn put_to_request(ask: AskNow, questions: mpsc::UnboundedSender<PutQuestion>) -> AskNow {
    Arc::new(move |form, settled| {
        let (sender, answer) = oneshot::channel();
        // A request that has gone cannot ask any more.
        let _ = questions.send((ask(form, settled), sender));
        Box::pin(async move { answer.await.unwrap_or(Answer::Missing) })
    })
}

/// Puts the questions of a call that runs on another task. Never ends.
async fn ask_here(mut questions: mpsc::UnboundedReceiver<PutQuestion>) {
    let mut asked = FuturesUnordered::new();
    loop {
        tokio::select! {
            Some((asking, answer)) = questions.recv() => asked.push(async move { answer.send(asking.await) }),
            Some(_) = asked.next() => {}
            else => std::future::pending().await,
        }
    }
}

fn unknown(id: &CallId) -> ToolError {
    ToolError::new(format!("no call with the id {id} has begun here")).hint("Nothing was run.")
}

fn other_arguments(id: &CallId) -> ToolError {
    ToolError::new(format!("the call id {id} belongs to a call with another tool or other arguments"))
        .hint("Nothing was run. Use a new id for a new call; an id is repeated only with the very same call.")
}

fn not_begun(reason: &str) -> ToolError {
    ToolError::new(format!("refused: {reason}"))
        .hint("Nothing was run: without its record, the call could run twice. Call without an id, or try again later.")
}

fn lost(id: &CallId, begun: SystemTime) -> ToolError {
    ToolError::new(format!("lost: the server ended while the call {id} ran; it had begun {} ago", ago(begun))).hint(
        "Nothing was run again. The command may have done all, some or nothing of its work: look before you repeat it.",
    )
}

fn ended_without_result(id: &CallId, begun: SystemTime) -> ToolError {
    ToolError::new(format!("lost: the result of the call {id} could not be recorded; it had begun {} ago", ago(begun)))
        .hint("Nothing was run again. The command may have done all, some or nothing of its work: look before you repeat it.")
}

fn forgotten(id: &CallId, begun: SystemTime) -> ToolError {
    ToolError::new(format!(
        "lost: the call {id} has finished, but its result is no longer kept; it had begun {} ago",
        ago(begun)
    ))
    .hint("Nothing was run again. Results are kept for an hour, and the newest 1,000 or 64 MB of a client.")
}

fn ago(begun: SystemTime) -> String {
    let seconds = begun.elapsed().unwrap_or_default().as_secs();
    if seconds < 120 { format!("{seconds} s") } else { format!("{} min", seconds / 60) }
}
