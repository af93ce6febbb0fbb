use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use super::record::{self, CallRecord};
use super::{
    Activity, Call, Clients, Context, Enforcement, Ids, KnownCalls, Questions, Reload, Session, Setup, SetupError,
    SpareSession, Start, Stop, ToolEntry, ToolError, ToolOutput, Workplace, instructions,
};
use crate::audit::{Event, Log};
use crate::base::{locks::LockExt, secret_names::looks_secret};
use crate::config::{Config, Source};
use crate::drafts::{Draft, Sides, Work};
use crate::exec::{self, KeeperLink, Place, ServerDirectory, Shell, ShellState};
use crate::gate::ledger::{self, Approval, Ledger};
use crate::gate::{Approvals, Gate};
use crate::records::Store;
use crate::sandbox::Tested;

/// Everything that outlives a single request.
pub struct Server {
    setup: Mutex<Arc<Setup>>,
    table: &'static [ToolEntry],
    reload: OnceLock<Reload>,
    shell: Shell,
    directory: Arc<ServerDirectory>,
    clients: Arc<Clients>,
    /// Approvals that are for good.
    kept: Ledger,
    audit: Arc<Log>,
    activity: Arc<Activity>,
    questions: Arc<Questions>,
    known_calls: KnownCalls,
    /// With `--draft`: the drafts that this server works on.
    work: Option<Arc<Work>>,
    start: Start,
    spare: SpareSession,
}

/// A self-test that has not stopped by then does not keep the server from its end.
const LONGEST_TEST: Duration = Duration::from_secs(1);
/// How long a shutdown waits for the records of calls that it has ended.
const RECORDED_WITHIN: Duration = Duration::from_secs(1);

const DRAFT_NOTE: &str = "this is a draft of the project: commands and file tools see and change it as usual, and the \
                          person's files stay as they are until the person runs `testudo apply` (`testudo changes` lists \
                          what is different)";

/// Why a call got no tool result at all.
#[derive(Clone, Debug, thiserror::Error, Eq, PartialEq)]
pub enum CallError {
    #[error("unknown tool \"{name}\"; the tools are: {valid}")]
    UnknownTool { name: String, valid: String },
}

/// The most characters of a name that no tool has, in the audit log.
const LONGEST_TOOL_NAME: usize = 100;

impl Server {
    /// `table` has all tools; the configuration chooses from it. Makes the server's directory and looks for the machine's
    /// shell; starts nothing.
    pub fn new(config: Config, table: &'static [ToolEntry], work: Option<Work>) -> Result<Arc<Self>, SetupError> {
        exec::raise_descriptor_limit();
        let (budget, limits) = (config.exec.output.store_bytes, config.sandbox.limits.disk_limits());
        let directory = ServerDirectory::open(&config.cache_dir, budget, limits);
        // The directory must be there before the first keeper hides it. Otherwise a command could make it.
        let kept = Ledger::below(&config.state_dir).unwrap_or_else(|error| {
            tracing::warn!(directory = %config.state_dir.display(), %error, "approvals cannot be kept for good");
            Ledger::default()
        });
        // The same holds for the directory of the control socket. Where none can be made, the socket says why.
        config.control_dirs.iter().for_each(|directory| drop(exec::make_private(directory)));
        let setup = Setup::new(config, table, &directory)?;
        let config = &setup.config;
        let known_calls = KnownCalls::new(Store::below(&config.state_dir));
        Ok(Arc::new(Self {
            audit: Arc::new(Log::new(config.audit.clone(), &config.state_dir, secrets(config))),
            setup: Mutex::new(Arc::new(setup)),
            table,
            reload: OnceLock::new(),
            shell: Shell::find(),
            directory,
            clients: Arc::default(),
            kept,
            activity: Arc::default(),
            questions: Arc::default(),
            known_calls,
            work: work.map(Arc::new),
            spare: SpareSession::default(),
            start: Start::default(),
        }))
    }

    /// The whole path of a request.
    pub async fn call(self: &Arc<Self>, call: Call) -> Result<Result<ToolOutput, Stop>, CallError> {
        exec::output::call_begins();
        self.wake_shell(&call);
        self.has_greeted();
        self.tested().await;
        self.follow_configuration().await;
        let setup = self.setup();
        let Some(tool) = setup.tools.iter().find(|entry| entry.name == call.tool) else {
            let name: String = call.tool.chars().take(LONGEST_TOOL_NAME).collect();
            // Nothing happens, so it does not matter here whether it could be written down.
            let _ = CallRecord::new(&self.audit, &call, name).unknown_tool(&call.arguments).await;
            let valid = setup.tools.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", ");
            return Err(CallError::UnknownTool { name: call.tool, valid });
        };
        tracing::debug!(tool = tool.name, client = call.client.principal(), "call");
        let record = CallRecord::new(&self.audit, &call, tool.name);
        if let Err(reason) = record.begin(&call.arguments).await {
            return Ok(Err(not_recorded(&reason, &setup.config.state_dir).into()));
        }
        call.client.roots().ready().await;
        setup.basis.ask_login_shell(&self.shell, &self.directory).await;
        if call.client.sessions().is_empty() {
            self.spare.settled().await;
        }
        let _attending = call.client.attend();
        let context = Context::new(self.clone(), call.client, call.progress, call.asker, record);
        let cancelled = async {
            call.cancel.cancelled().await;
            context.cancel.cancel();
            // The tool ends its work in order and returns; it is not dropped half-way.
            std::future::pending().await
        };
        let mut result = tokio::select! {
            result = (tool.run)(call.arguments, &context) => result,
            never = cancelled => never,
        };
        follow_up(&context, &mut result).await;
        if let Some(work) = self.work.clone() {
            tokio::task::spawn_blocking(move || work.look());
        }
        context.record.end(&result);
        exec::worked();
        tracing::debug!(tool = tool.name, error = result.is_err(), "answer");
        Ok(result)
    }

    /// The shell that may run a command of this call wakes up while the server looks at the call.
    fn wake_shell(&self, call: &Call) {
        let runs_commands = self.table.iter().any(|entry| entry.name == call.tool && entry.hints.open_world);
        let name = call.arguments.get("session").and_then(serde_json::Value::as_str).unwrap_or_default();
        if runs_commands && let Some(session) = call.client.known_session(name) {
            session.waiting_shells().wake();
        }
    }

    pub fn tools(&self) -> Vec<&'static ToolEntry> {
        self.setup().tools.clone()
    }

    pub fn instructions(&self) -> String {
        let setup = self.setup();
        let found = setup.basis.profiles.enforcement_so_far().map(|found| Tested::from(&*found));
        let found = found.or_else(|| self.start.announced());
        instructions::text(&setup.config, &setup.basis.workplace(&[]), found)
    }

    /// Tests the sandbox before anybody relies on it; the result stands in the instructions.
    pub async fn self_test(&self) -> Arc<Enforcement> {
        self.setup().basis.self_test(&self.directory).await
    }

    /// What the configuration comes to now.
    pub fn setup(&self) -> Arc<Setup> {
        self.setup.locked().clone()
    }

    pub(super) fn replace_setup(&self, setup: Setup) {
        *self.setup.locked() = Arc::new(setup);
    }

    /// From now on the server follows the file of its configuration.
    pub fn follow(&self, source: Source) {
        if let Some(reload) = Reload::new(source, &self.config()) {
            let _ = self.reload.set(reload);
        }
    }

    pub(super) fn reload(&self) -> Option<&Reload> {
        self.reload.get()
    }

    pub(super) fn beginning(&self) -> &Start {
        &self.start
    }

    pub(super) fn spare(&self) -> &SpareSession {
        &self.spare
    }

    /// All tools there are.
    pub(super) fn table(&self) -> &'static [ToolEntry] {
        self.table
    }

    pub(super) fn directory(&self) -> &Arc<ServerDirectory> {
        &self.directory
    }

    pub fn config(&self) -> Arc<Config> {
        self.setup().config.clone()
    }

    pub fn gate(&self) -> Arc<Gate> {
        self.setup().gate.clone()
    }

    /// Where a session's command runs.
    pub fn place<'a>(&'a self, session: &'a Session, keeper: &'a KeeperLink, state: &'a ShellState) -> Place<'a> {
        Place {
            keeper,
            shell: &self.shell,
            directory: session.directory(),
            settings: &session.basis().config.exec,
            nonce: session.nonce(),
            state,
        }
    }

    pub fn shell(&self) -> &Shell {
        &self.shell
    }

    pub fn clients(&self) -> &Arc<Clients> {
        &self.clients
    }

    pub fn audit(&self) -> &Arc<Log> {
        &self.audit
    }

    /// The drafts that this server works on, each with both of its sides.
    pub fn drafts(&self) -> std::io::Result<Vec<(Draft, Sides)>> {
        self.work.as_ref().map_or(Ok(Vec::new()), |work| work.drafts())
    }

    /// The commands that run now.
    pub fn activity(&self) -> &Arc<Activity> {
        &self.activity
    }

    /// The questions that wait for a person.
    pub fn questions(&self) -> &Arc<Questions> {
        &self.questions
    }

    /// The calls that have an id.
    pub(super) fn known_calls(&self) -> &KnownCalls {
        &self.known_calls
    }

    /// What people have approved in this server or for good.
    pub fn approvals_given(&self) -> Vec<Approval> {
        ledger::read(&self.ledgers())
    }

    /// Takes back the approvals that are chosen.
    pub fn revoke(&self, chosen: impl Fn(&Approval) -> bool) -> std::io::Result<Vec<Approval>> {
        ledger::revoke(&self.ledgers(), chosen)
    }

    fn ledgers(&self) -> Vec<PathBuf> {
        let kept = self.config().state_dir.join(ledger::KEPT);
        self.directory.approvals().into_iter().chain([kept]).collect()
    }

    /// What this machine holds, as far as it is known.
    pub fn enforcement(&self) -> Option<Arc<Enforcement>> {
        self.setup().basis.profiles.enforcement_so_far()
    }

    /// Writes into the audit log that a server begins to take calls, and with which configuration.
    pub fn record_start(&self) {
        let (version, pid, configuration) =
            (env!("CARGO_PKG_VERSION"), std::process::id(), record::configuration(self));
        self.audit.record(None, Event::ServerStart { version, pid, configuration });
    }

    /// Writes into the audit log that the configuration has changed.
    pub(super) fn record_configuration(&self, changed: Vec<String>) {
        let configuration = record::configuration(self);
        self.audit.record(None, Event::ConfigurationChanged { changed, configuration });
    }

    /// The workplace of a client with these roots. Roots that cannot be worked on as a draft do not count.
    pub fn workplace(&self, roots: &[PathBuf]) -> Workplace {
        let basis = self.setup().basis.clone();
        let workplace = basis.workplace(roots);
        let Some(work) = &self.work else { return workplace };
        match work.cover(&workplace.directories) {
            Ok(()) => workplace,
            Err(error) if roots.is_empty() => {
                tracing::error!("nothing is in scope: {error}");
                Workplace { directories: Vec::new(), ..workplace }
            }
            Err(error) => {
                tracing::warn!("the roots of the client are ignored: {error}");
                self.workplace(&[])
            }
        }
    }

    /// A new session; `name` is for people.
    pub fn new_session(&self, workplace: Option<Workplace>, name: String, ids: Arc<Ids>) -> Session {
        let (setup, workplace) = (self.setup(), workplace.unwrap_or_else(|| self.workplace(&[])));
        let spare = self.spare.take(&setup, &workplace);
        let approvals = Approvals::new(Ledger::new(self.directory.approvals()), self.kept.clone(), name);
        let session =
            spare.unwrap_or_else(|| Session::new(&setup, &self.directory, workplace)).given_to(ids, approvals);
        if self.work.is_some() {
            session.note(DRAFT_NOTE.to_owned());
        }
        if let Some(correction) = self.enforcement().and_then(|found| self.start.correction(&found)) {
            session.note(correction);
        }
        session
    }

    /// Ends every session with all its processes; safe to call more than once.
    pub async fn shut_down(&self) {
        let _tested = tokio::time::timeout(LONGEST_TEST, self.tested()).await;
        self.clients.end_all().await;
        // Their commands have ended, so this takes no longer than to write the results down.
        let _ = tokio::time::timeout(RECORDED_WITHIN, self.calls_finished()).await;
        self.spare.end().await;
        self.setup().basis.spare.end();
        exec::guards_gone().await;
        if let Some(work) = self.work.clone() {
            let _ = tokio::task::spawn_blocking(move || work.look_now()).await;
        }
        self.audit.end().await;
        self.directory.remove();
    }
}

/// The secrets that this process knows.
fn secrets(config: &Config) -> Vec<String> {
    let variables = config.environment.iter().filter(|(name, value)| looks_secret(name, value));
    let values = variables.filter_map(|(_, value)| value.to_str().map(str::to_owned));
    values.chain(config.http.tokens.secrets().map(str::to_owned)).collect()
}

fn not_recorded(reason: &str, directory: &std::path::Path) -> ToolError {
    ToolError::new(format!("refused: the audit log cannot be written: {reason}")).hint(format!(
        "Nothing was run. audit.required is set, so the user has to make {} writable first.",
        directory.display()
    ))
}

/// Adds what the agent should know besides the tool's own words: what the sandbox denied or undid, and tasks that have
/// ended. A question carries nothing; what there is to say comes with the answer.
async fn follow_up(context: &Context, result: &mut Result<ToolOutput, Stop>) {
    let mut lines: Vec<String> = context.take_notes().iter().map(|note| format!("[sandbox: {note}]")).collect();
    for session in context.sessions() {
        if matches!(result, Err(Stop::Ask(_))) {
            continue;
        }
        lines.extend(session.follow_up(context).await.iter().map(|note| format!("[sandbox: {note}]")));
        for (id, exit_code) in session.tasks().newly_ended(|id| !context.has_started(id)) {
            lines.push(format!("[task {id} has ended with exit code {exit_code}: read it with task_output]"));
        }
    }
    match result {
        Ok(output) => lines.into_iter().for_each(|line| output.add_line(line)),
        Err(Stop::Error(error)) => *error = lines.into_iter().fold(error.clone(), super::ToolError::hint),
        Err(Stop::Ask(_)) => {}
    }
}
