//! A client and its sessions. A session belongs to one client; for every other client it does not exist.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::{Ids, Roots, Session, ToolError, Workplace};
use crate::base::locks::LockExt;

/// Tells clients apart, across connections.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum ClientId {
    /// The client on stdin and stdout.
    Local,
    /// A protocol session, named by a random id that only its client knows.
    ProtocolSession(String),
    /// The holder of a token, by the token's name: the lifecycle of 2026-07-28 has no protocol sessions.
    Principal(String),
}

/// One client with its sessions.
#[derive(Debug)]
pub struct Client {
    id: ClientId,
    /// Tells it apart for people, who must not see its id.
    number: u64,
    /// The name of the token it came with, for the log.
    principal: String,
    /// What it calls itself.
    name: Mutex<Option<String>>,
    sessions: Mutex<HashMap<String, Arc<Session>>>,
    ids: Arc<Ids>,
    /// Chosen by its roots; without roots the flags decide.
    workplace: Mutex<Option<Workplace>>,
    roots: Roots,
    attendance: Mutex<Attendance>,
    over: CancellationToken,
}

#[derive(Debug)]
struct Attendance {
    /// Calls under way and open streams.
    present: usize,
    last_seen: Instant,
}

/// Sessions one client may have, the default one included.
const MOST_SESSIONS: usize = 64;
const LONGEST_SESSION_NAME: usize = 64;

impl Client {
    pub fn new(id: ClientId, principal: impl Into<String>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self {
            id,
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            principal: principal.into(),
            name: Mutex::default(),
            sessions: Mutex::default(),
            ids: Arc::default(),
            workplace: Mutex::default(),
            roots: Roots::default(),
            attendance: Mutex::new(Attendance { present: 0, last_seen: Instant::now() }),
            over: CancellationToken::new(),
        }
    }

    pub fn id(&self) -> &ClientId {
        &self.id
    }

    pub fn number(&self) -> u64 {
        self.number
    }

    pub fn principal(&self) -> &str {
        &self.principal
    }

    /// What it calls itself, once it has introduced itself.
    pub fn name(&self) -> Option<String> {
        self.name.locked().clone()
    }

    /// The client says who it is.
    pub fn introduce(&self, name: impl FnOnce() -> Option<String>) {
        let mut known = self.name.locked();
        if known.is_none() {
            *known = name();
        }
    }

    /// The session of that name, made on first use; the default one without a name.
    pub fn session(
        &self,
        name: Option<&str>,
        make: impl FnOnce(Option<Workplace>, String, Arc<Ids>) -> Session,
    ) -> Result<Arc<Session>, ToolError> {
        let name = name.unwrap_or_default();
        let valid = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.len() > LONGEST_SESSION_NAME || !name.chars().all(valid) {
            return Err(ToolError::new(format!("invalid session name {name:?}"))
                .hint(format!("Use letters, digits, - _ and ., at most {LONGEST_SESSION_NAME} of them.")));
        }
        let mut sessions = self.sessions.locked();
        // Checked under the lock: `end` collects the sessions under it, so none can start after that.
        if self.over.is_cancelled() {
            return Err(ToolError::new("this session has ended").hint("Nothing was run. Connect again."));
        }
        if let Some(session) = sessions.get(name) {
            return Ok(session.clone());
        }
        if sessions.len() >= MOST_SESSIONS {
            return Err(ToolError::new(format!("there are {MOST_SESSIONS} sessions already"))
                .hint(format!("Use one of them: {}", sessions.keys().cloned().collect::<Vec<_>>().join(", "))));
        }
        let shown = if name.is_empty() { "default" } else { name };
        let shown = format!("session {shown} of {}", self.principal);
        let session = Arc::new(make(self.workplace.locked().clone(), shown, self.ids.clone()));
        sessions.insert(name.to_owned(), session.clone());
        Ok(session)
    }

    /// All its sessions with their names, sorted by name. The name of the default one is empty.
    pub fn named_sessions(&self) -> Vec<(String, Arc<Session>)> {
        let mut all: Vec<_> =
            self.sessions.locked().iter().map(|(name, session)| (name.clone(), session.clone())).collect();
        all.sort_by(|one, other| one.0.cmp(&other.0));
        all
    }

    /// The session of that name, if it was used before. The name of the default one is empty.
    pub fn known_session(&self, name: &str) -> Option<Arc<Session>> {
        self.sessions.locked().get(name).cloned()
    }

    /// All its sessions, in no particular order.
    pub fn sessions(&self) -> Vec<Arc<Session>> {
        self.sessions.locked().values().cloned().collect()
    }

    /// Whether it was ever given the id of a task or of a stored output.
    pub fn was_given_ids(&self) -> bool {
        self.ids.any()
    }

    /// The state of the question for its roots.
    pub fn roots(&self) -> &Roots {
        &self.roots
    }

    /// Called when its roots become known or change. Every session moves there, and later ones begin there.
    pub fn move_to(&self, workplace: &Workplace) {
        let sessions = self.sessions.locked();
        *self.workplace.locked() = Some(workplace.clone());
        sessions.values().for_each(|session| session.move_to(workplace.clone()));
    }

    /// Called when the server's own directories have changed. Sessions to come begin at the new workplace for the same
    /// roots; the others stay where they are.
    pub fn begin_sessions_at(&self, make: impl FnOnce(&[PathBuf]) -> Workplace) {
        let mut workplace = self.workplace.locked();
        if let Some(known) = workplace.as_mut() {
            *known = make(&known.roots);
        }
    }

    /// While the guard lives, the client is not idle.
    pub fn attend(self: &Arc<Self>) -> Attending {
        self.attendance.locked().present += 1;
        Attending { client: self.clone() }
    }

    /// How long it has been idle; `None` while it is present.
    pub fn idle(&self) -> Option<Duration> {
        let attendance = self.attendance.locked();
        (attendance.present == 0).then(|| attendance.last_seen.elapsed())
    }

    /// Fires when the client is gone. Calls that still run for it stop then.
    pub fn over(&self) -> &CancellationToken {
        &self.over
    }

    /// Ends every session with all its processes; safe to call more than once.
    pub async fn end(&self) {
        let sessions = {
            let mut sessions = self.sessions.locked();
            self.over.cancel();
            std::mem::take(&mut *sessions)
        };
        futures::future::join_all(sessions.values().map(|session| session.end())).await;
    }
}

/// See [`Client::attend`].
#[derive(Debug)]
pub struct Attending {
    client: Arc<Client>,
}

impl Drop for Attending {
    fn drop(&mut self) {
        let mut attendance = self.client.attendance.locked();
        attendance.present -= 1;
        attendance.last_seen = Instant::now();
    }
}
