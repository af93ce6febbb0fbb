//! What a session's commands may reach by name: the lists, what the person says about other hosts, and what comes of it.
//!
//! A person can be asked while a call waits for its command: the question has to travel with that call. So the call keeps a
//! [`Desk`] open, and the proxy brings its questions there. A task has no such call; only people at `testudo approve` or the
//! console can be asked about its hosts.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, Weak};

use tokio::sync::{OnceCell, mpsc, oneshot};

use super::{CallRecord, Client, Connections, Context, Server, Session, Stop};
use crate::audit::Event;
use crate::base::locks::LockExt;
use crate::network::{Connection, Doorman, HostPattern, Rules, Settings, Target};
use crate::policy::action::Preview;
use crate::policy::{Action, Grant, Subject};

#[derive(Debug)]
pub struct Hosts {
    rules: Rules,
    state: Mutex<State>,
    connections: Arc<Connections>,
}

#[derive(Debug, Default)]
struct State {
    /// The command that was started last, for questions and the audit log.
    latest: Option<Latest>,
    desks: Vec<(u64, mpsc::UnboundedSender<Asked>)>,
    next_desk: u64,
    /// Questions that are being asked. Further connections to the same host wait for the same answer.
    open: HashMap<String, Arc<OnceCell<Result<(), String>>>>,
    /// What the person allowed once: while the command runs.
    once: HashSet<String>,
    /// What the person refused, for the rest of the session.
    refused: HashSet<String>,
    notes: Vec<String>,
    unnoted: usize,
}

#[derive(Clone, Debug)]
struct Latest {
    server: Weak<Server>,
    client: Weak<Client>,
    session: Weak<Session>,
    record: CallRecord,
}

/// A question on its way to a call.
#[derive(Debug)]
pub struct Asked {
    host: ReachHost,
    answer: oneshot::Sender<Result<(), String>>,
}

/// Where a call takes questions while its command runs.
pub struct Desk {
    hosts: Arc<Hosts>,
    number: u64,
    asked: mpsc::UnboundedReceiver<Asked>,
}

/// Lines about refused connections on one result.
const MOST_NOTES: usize = 5;
const BY_THE_PERSON: &str = "; the user refused it for this session";

impl Hosts {
    pub fn new(settings: &Settings) -> Self {
        Self {
            rules: Rules::new(&settings.allow, &settings.deny),
            state: Mutex::default(),
            connections: Arc::default(),
        }
    }

    /// Decides for commands with these grants.
    pub fn doorman(self: &Arc<Self>, grants: &[Grant]) -> Doorman {
        let granted: Vec<HostPattern> = granted(grants).filter_map(|host| host.parse().ok()).collect();
        let (asked, told, connections) = (self.clone(), self.clone(), self.connections.clone());
        Doorman {
            rules: self.rules.and_allow(&granted),
            ask: Arc::new(move |target| {
                let hosts = asked.clone();
                Box::pin(async move { hosts.ask(ReachHost { pattern: target.pattern() }, &target).await })
            }),
            opened: Arc::new(move |target, traffic| connections.opened(target, traffic)),
            report: Arc::new(move |connection| told.record(connection)),
        }
    }

    /// A command starts.
    pub fn command_starts(&self, context: &Context, session: &Arc<Session>) {
        self.state.locked().latest = Some(Latest {
            server: Arc::downgrade(&context.server),
            client: Arc::downgrade(&context.client),
            session: Arc::downgrade(session),
            record: context.record.clone(),
        });
    }

    /// From now on, a call takes questions.
    pub fn open_desk(self: &Arc<Self>) -> Desk {
        let (sender, asked) = mpsc::unbounded_channel();
        let mut state = self.state.locked();
        state.next_desk += 1;
        let number = state.next_desk;
        state.desks.push((number, sender));
        Desk { hosts: self.clone(), number, asked }
    }

    pub fn connections(&self) -> &Connections {
        &self.connections
    }

    /// Lines for the agent about connections that were refused.
    pub fn take_notes(&self) -> Vec<String> {
        let mut state = self.state.locked();
        let mut notes = std::mem::take(&mut state.notes);
        match std::mem::take(&mut state.unnoted) {
            0 => {}
            count => notes.push(format!("{count} more connections were refused; `testudo audit --denied` shows them")),
        }
        notes
    }

    async fn ask(&self, host: ReachHost, target: &Target) -> Result<(), String> {
        let key = target.pattern();
        let cell = {
            let mut state = self.state.locked();
            if state.refused.contains(&key) {
                return Err(BY_THE_PERSON.to_owned());
            }
            if state.once.contains(&key) {
                return Ok(());
            }
            state.open.entry(key.clone()).or_default().clone()
        };
        let answer = cell.get_or_init(|| self.ask_somebody(host)).await.clone();
        self.state.locked().open.remove(&key);
        answer
    }

    async fn ask_somebody(&self, host: ReachHost) -> Result<(), String> {
        loop {
            let desk = self.state.locked().desks.last().cloned();
            let Some((number, desk)) = desk else { break };
            let (answer, answered) = oneshot::channel();
            if desk.send(Asked { host: host.clone(), answer }).is_ok()
                && let Ok(answer) = answered.await
            {
                return answer;
            }
            self.close_desk(number);
        }
        let latest = self.state.locked().latest.clone();
        let people = latest.and_then(|latest| {
            let (server, client) = (latest.server.upgrade()?, latest.client.upgrade()?);
            Some((Context::of_task(server, client, latest.record), latest.session.upgrade()?))
        });
        match people {
            Some((context, session)) => self.decide(&context, &session, host).await,
            None => Err(String::new()),
        }
    }

    async fn decide(&self, context: &Context, session: &Session, host: ReachHost) -> Result<(), String> {
        let (key, can_ask) = (host.pattern.clone(), context.can_ask());
        let refusal = match context.permit(session, host).await {
            Ok(_) => {
                self.state.locked().once.insert(key);
                return Ok(());
            }
            Err(Stop::Error(refusal)) => refusal.to_string(),
            Err(Stop::Ask(_)) => String::new(),
        };
        if !can_ask {
            return Err("; there is nobody to ask".to_owned());
        }
        // Only a person's own no holds for the session.
        if refusal.starts_with("refused by the user") {
            self.state.locked().refused.insert(key);
            return Err(BY_THE_PERSON.to_owned());
        }
        Err("; nobody has allowed it".to_owned())
    }

    fn record(&self, connection: Connection) {
        self.connections.ended(&connection);
        let Connection { host, port, refused, failed, sent, received, milliseconds } = connection;
        let mut state = self.state.locked();
        if let Some(reason) = refused.as_ref().filter(|reason| !state.notes.contains(reason)).cloned() {
            if state.notes.len() < MOST_NOTES {
                state.notes.push(reason);
            } else {
                state.unnoted += 1;
            }
        }
        let verdict = if refused.is_some() { "deny" } else { "allow" };
        let reason = refused.or(failed);
        let record = state.latest.as_ref().map(|latest| latest.record.clone());
        drop(state);
        if let Some(record) = record {
            record.add(Event::Connection { host, port, verdict, reason, sent, received, milliseconds });
        }
    }

    fn close_desk(&self, number: u64) {
        let mut state = self.state.locked();
        state.desks.retain(|(known, _)| *known != number);
        if state.desks.is_empty() {
            state.once.clear();
        }
    }
}

impl Desk {
    /// Answers questions, one after the other, for ever.
    pub async fn serve(&mut self, context: &Context, session: &Session) -> Infallible {
        while let Some(Asked { host, answer }) = self.asked.recv().await {
            let mut answer = answer;
            let decided = tokio::select! {
                decided = self.hosts.decide(context, session, host) => decided,
                // The program has given up.
                () = answer.closed() => continue,
            };
            let _ = answer.send(decided);
        }
        std::future::pending().await
    }
}

impl Context {
    /// Waits for a command, and meanwhile asks the person about hosts that it wants to reach.
    pub(super) async fn at_desk<T>(&self, session: &Arc<Session>, work: impl Future<Output = T>) -> T {
        let Some(hosts) = session.hosts() else { return work.await };
        let (mut desk, context) = (hosts.open_desk(), self.beside());
        tokio::select! {
            biased;
            result = work => result,
            never = desk.serve(&context, session) => match never {},
        }
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.hosts.close_desk(self.number);
    }
}

/// The hosts among the grants of a rule.
pub fn granted(grants: &[Grant]) -> impl Iterator<Item = &str> {
    grants.iter().filter_map(|grant| match grant {
        Grant::Host(host) => Some(host.as_str()),
        Grant::SshAgent | Grant::GpgAgent | Grant::Write(_) => None,
    })
}

/// Reach a host that no list names.
#[derive(Clone, Debug)]
struct ReachHost {
    /// What would have to be listed.
    pattern: String,
}

impl Action for ReachHost {
    fn subject(&self) -> Subject<'_> {
        Subject::Host(&self.pattern)
    }

    fn summary(&self) -> String {
        format!("reach the host {}", self.pattern)
    }

    fn preview(&self) -> Preview {
        Preview { text: format!("host {}", self.pattern), ..Preview::default() }
    }
}
