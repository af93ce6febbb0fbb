use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::keeper_life::NO_TMP;
use super::profiles::WorkArea;
use super::record::{self, CallRecord};
use super::session::Equipment;
use super::{
    Activity, Call, Clients, Context, Enforcement, Ids, KeeperLife, NameWatch, Notes, Profiles, ProtectedNames,
    Questions, Session, SpareKeeper, Stop, ToolEntry, ToolError, ToolOutput, Workplace, instructions,
};
use crate::audit::{Event, Log};
use crate::base::search_path::variable;
use crate::base::secret_names::looks_secret;
use crate::config::Config;
use crate::drafts::Work;
use crate::exec::{self, KeeperLink, Place, ServerDirectory, Shell, ShellState};
use crate::gate::ledger::{self, Approval, Ledger};
use crate::gate::{Approvals, Gate, Machine, Surroundings};
use crate::policy::{Policy, RuleError};
use crate::sandbox::obstacles;

/// Everything that outlives a single request.
pub struct Server {
    config: Config,
    gate: Gate,
    shell: Shell,
    directory: Arc<ServerDirectory>,
    tools: Vec<&'static ToolEntry>,
    initial: Vec<(OsString, OsString)>,
    /// The initial environment with what a login shell adds, once it was asked.
    login: tokio::sync::OnceCell<Vec<(OsString, OsString)>>,
    profiles: Arc<Profiles>,
    spare: Arc<SpareKeeper>,
    names: Arc<ProtectedNames>,
    clients: Arc<Clients>,
    /// Approvals that are for good.
    kept: Ledger,
    audit: Arc<Log>,
    activity: Arc<Activity>,
    questions: Arc<Questions>,
    /// With `--draft`: the drafts that this server works on.
    work: Option<Arc<Work>>,
}

const DRAFT_NOTE: &str = "this is a draft of the project: commands and file tools see and change it as usual, and the \
                          person's files stay as they are until the person runs `testudo apply` (`testudo changes` lists \
                          what is different)";

/// Why a call got no tool result at all.
#[derive(Debug, thiserror::Error, Eq, PartialEq)]
pub enum CallError {
    #[error("unknown tool \"{name}\"; the tools are: {valid}")]
    UnknownTool { name: String, valid: String },
}

impl Server {
    /// `tools` is the table of all tools; the configuration chooses from it. Makes the server's directory and looks for the
    /// machine's shell; starts nothing.
    pub fn new(mut config: Config, tools: &'static [ToolEntry], work: Option<Work>) -> Result<Arc<Self>, RuleError> {
        let policy = Policy::new(&config.policy)?;
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
        config.state_dir = config.state_dir.canonicalize().unwrap_or(config.state_dir);
        let initial = exec::initial_environment(config.environment.clone(), &config.env);
        Ok(Arc::new(Self {
            gate: Gate::new(policy, Machine::new(variable(&initial, "PATH").unwrap_or_default())),
            shell: Shell::find(),
            profiles: Arc::new(Profiles::new(&config, directory.path())),
            directory,
            tools: tools.iter().filter(|entry| config.tools.offers(entry.name, entry.toolsets)).collect(),
            initial,
            login: tokio::sync::OnceCell::new(),
            spare: Arc::default(),
            names: Arc::new(ProtectedNames::new(&config)),
            clients: Arc::default(),
            kept,
            audit: Arc::new(Log::new(config.audit.clone(), &config.state_dir, secrets(&config))),
            activity: Arc::default(),
            questions: Arc::default(),
            work: work.map(Arc::new),
            config,
        }))
    }

    /// The whole path of a request.
    pub async fn call(self: &Arc<Self>, call: Call) -> Result<Result<ToolOutput, Stop>, CallError> {
        let tool = self.tools.iter().find(|entry| entry.name == call.tool).ok_or_else(|| CallError::UnknownTool {
            name: call.tool.clone(),
            valid: self.tools.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", "),
        })?;
        tracing::debug!(tool = tool.name, client = call.client.principal(), "call");
        let record = CallRecord::new(&self.audit, &call, tool.name);
        if let Err(reason) = record.begin(&call.arguments).await {
            return Ok(Err(not_recorded(&reason, &self.config.state_dir).into()));
        }
        call.client.roots().ready().await;
        self.ask_login_shell().await;
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
        tracing::debug!(tool = tool.name, error = result.is_err(), "answer");
        Ok(result)
    }

    pub fn tools(&self) -> &[&'static ToolEntry] {
        &self.tools
    }

    pub fn instructions(&self) -> String {
        instructions::text(&self.config, &self.workplace(&[]), self.profiles.enforcement_so_far().as_deref())
    }

    /// Before the first call of a server that was started without a shell: see [`exec::Login`]. The login shell runs in a
    /// sandbox without a scope, so start-up files that an agent may have written can change nothing.
    async fn ask_login_shell(&self) {
        let (server, settings) = (&self.config.environment, &self.config.env);
        if self.login.initialized() || !exec::login_shell_wanted(server, settings) {
            return;
        }
        let ask = async || {
            let get = |name: &str| variable(server, name).map(PathBuf::from);
            let shell = get("SHELL").filter(|shell| shell.is_absolute() && shell.exists());
            let login = exec::Login {
                shell: shell.unwrap_or_else(|| self.shell.path().to_owned()),
                home: get("HOME").unwrap_or_else(|| PathBuf::from("/")),
            };
            let directory = self.directory.session();
            let tmp = directory.temporary().ok()?;
            let area = WorkArea { project: Path::new("/"), scope: &[], tmp, directory: &self.directory };
            // Not with the project's own home: what a command planted there must not become the server's environment.
            let plan = self.profiles.plan_without_own_home(area, &self.spare).await.ok()?;
            let keeper = KeeperLink::launch(plan.profile, plan.masks, plan.home).await.ok()?;
            Some(login.extend(&keeper, server, settings).await)
        };
        self.login.get_or_init(async || ask().await.unwrap_or_else(|| self.initial.clone())).await;
    }

    /// Tests the sandbox before anybody relies on it; the result stands in the instructions.
    pub async fn self_test(&self) -> Arc<Enforcement> {
        let workplace = self.workplace(&[]);
        let (project, scope) = (workplace.real_project().await, workplace.directories);
        let directory = self.directory.session();
        let found = match directory.temporary() {
            Ok(tmp) => {
                let area = WorkArea { project: &project, scope: &scope, tmp, directory: &self.directory };
                self.profiles.enforcement(area, &self.spare).await
            }
            Err(error) => {
                let reason = format!("{NO_TMP}: {error}");
                self.profiles.remember(Enforcement::untested(reason, obstacles::TEMPORARY))
            }
        };
        if let Some(reason) = &found.home_shortfall {
            self.profiles.homes().abandon(reason).await;
        }
        self.spare.end();
        // The level may still rise. What a session needs to know then is looked up when its keeper is made.
        if found.is_final() {
            self.names.prepare(scope, found.level);
        }
        found
    }

    pub fn config(&self) -> &Config {
        &self.config
    }

    pub fn gate(&self) -> &Gate {
        &self.gate
    }

    /// Where a session's command runs.
    pub fn place<'a>(&'a self, session: &'a Session, keeper: &'a KeeperLink, state: &'a ShellState) -> Place<'a> {
        Place {
            keeper,
            shell: &self.shell,
            directory: session.directory(),
            settings: &self.config.exec,
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

    /// The commands that run now.
    pub fn activity(&self) -> &Arc<Activity> {
        &self.activity
    }

    /// The questions that wait for a person.
    pub fn questions(&self) -> &Arc<Questions> {
        &self.questions
    }

    /// What people have approved in this server or for good.
    pub fn approvals_given(&self) -> Vec<Approval> {
        ledger::read(&self.ledgers())
    }

    /// Takes back the approval with this id.
    pub fn revoke(&self, id: &str) -> std::io::Result<Vec<Approval>> {
        ledger::revoke(&self.ledgers(), |approval| approval.id == id)
    }

    fn ledgers(&self) -> Vec<PathBuf> {
        let kept = self.config.state_dir.join(ledger::KEPT);
        self.directory.approvals().into_iter().chain([kept]).collect()
    }

    /// What this machine holds, as far as it is known.
    pub fn enforcement(&self) -> Option<Arc<Enforcement>> {
        self.profiles.enforcement_so_far()
    }

    /// Writes into the audit log that a server begins to take calls, and with which configuration.
    pub fn record_start(&self) {
        let (version, pid, configuration) =
            (env!("CARGO_PKG_VERSION"), std::process::id(), record::configuration(self));
        self.audit.record(None, Event::ServerStart { version, pid, configuration });
    }

    /// The workplace of a client with these roots. Roots that cannot be worked on as a draft do not count.
    pub fn workplace(&self, roots: &[PathBuf]) -> Workplace {
        let workplace = Workplace::new(&self.config.directories, roots);
        let Some(work) = self.work.as_ref().filter(|_| !roots.is_empty()) else { return workplace };
        match work.cover(&workplace.directories) {
            Ok(()) => workplace,
            Err(error) => {
                tracing::warn!("the roots of the client are ignored: {error}");
                Workplace::new(&self.config.directories, &[])
            }
        }
    }

    /// The environment of a session's first command.
    pub fn environment(&self) -> Vec<(OsString, OsString)> {
        let mut environment = self.login.get().unwrap_or(&self.initial).clone();
        if self.gate.policy().is_strict() {
            exec::make_git_safe(&mut environment);
        }
        environment
    }

    /// What the policy has to know about where commands run.
    pub fn surroundings(&self, workplace: &Workplace) -> Surroundings {
        let path = |name: &str| variable(&self.initial, name).map(PathBuf::from).filter(|path| path.is_absolute());
        Surroundings {
            project_dir: workplace.project_dir.clone(),
            home: path("HOME"),
            writable: [Some(PathBuf::from("/tmp")), path("TMPDIR")].into_iter().flatten().collect(),
            replaceable: workplace.directories.clone(),
            overlaid: self.profiles.overlaid(&workplace.project_dir),
            keeps_approvals: !workplace.contains(&self.config.state_dir),
            search_path: variable(&self.initial, "PATH").unwrap_or_default().to_owned(),
            protected: self.names.names().clone(),
        }
    }

    /// A new session; `name` is for people.
    pub fn new_session(&self, workplace: Option<Workplace>, name: String, ids: Arc<Ids>) -> Session {
        let notes = Notes::default();
        if self.work.is_some() {
            notes.add(DRAFT_NOTE.to_owned());
        }
        let directory = Arc::new(self.directory.session());
        let (profiles, spare) = (self.profiles.clone(), self.spare.clone());
        let keepers = Arc::new(KeeperLife::new(profiles, spare, directory.clone(), notes.clone()));
        let equipment = Equipment {
            ids,
            environment: self.environment(),
            deny: self.config.files.deny.clone(),
            profiles: self.profiles.clone(),
            names: Arc::new(NameWatch::new(self.names.clone(), keepers.clone())),
            keepers,
            notes,
            approvals: Approvals::new(Ledger::new(self.directory.approvals()), self.kept.clone(), name),
            directory,
        };
        Session::new(workplace.unwrap_or_else(|| self.workplace(&[])), equipment)
    }

    /// Ends every session with all its processes; safe to call more than once.
    pub async fn shut_down(&self) {
        self.clients.end_all().await;
        self.spare.end();
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
