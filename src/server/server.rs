use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use super::confinement::Found;
use super::keepers::Keepers;
use super::{Call, Clients, Confinement, Context, Session, Workplace, instructions};
use crate::config::Config;
use crate::exec::{self, Shell, Store};
use crate::gate::ledger::Ledger;
use crate::gate::{Approvals, Gate, Machine, Surroundings};
use crate::policy::{Policy, RuleError};
use crate::tools::{self, Entry, ToolError, ToolOutput};

/// Everything that outlives a single request.
pub struct Server {
    config: Config,
    gate: Gate,
    shell: Shell,
    store: Store,
    tools: Vec<&'static Entry>,
    initial: Vec<(OsString, OsString)>,
    /// The initial environment with what a login shell adds, once it was asked.
    login: tokio::sync::OnceCell<Vec<(OsString, OsString)>>,
    confinement: Arc<Confinement>,
    clients: Arc<Clients>,
}

/// Why a call got no tool result at all.
#[derive(Debug, thiserror::Error, Eq, PartialEq)]
pub enum CallError {
    #[error("unknown tool \"{name}\"; the tools are: {valid}")]
    UnknownTool { name: String, valid: String },
}

impl Server {
    /// Reads nothing but the machine's shell and clock; everything else comes with the configuration.
    pub fn new(config: Config) -> Result<Arc<Self>, RuleError> {
        let policy = Policy::new(&config.policy)?;
        let store = Store::open(&config.cache_dir, config.exec.output.store_bytes).unwrap_or_else(|error| {
            tracing::warn!(directory = %config.cache_dir.display(), %error, "long output cannot be stored");
            Store::unavailable()
        });
        let initial = exec::initial_environment(config.environment.clone(), &config.env);
        Ok(Arc::new(Self {
            gate: Gate::new(policy, Machine::new(&variable(&initial, "PATH").unwrap_or_default())),
            shell: Shell::find(),
            store,
            tools: tools::offered(&config.tools),
            initial,
            login: tokio::sync::OnceCell::new(),
            confinement: Arc::new(Confinement::new(&config)),
            clients: Arc::default(),
            config,
        }))
    }

    /// The whole path of a request.
    pub async fn call(self: &Arc<Self>, call: Call) -> Result<Result<ToolOutput, ToolError>, CallError> {
        let tool = self.tools.iter().find(|entry| entry.name == call.tool).ok_or_else(|| CallError::UnknownTool {
            name: call.tool.clone(),
            valid: self.tools.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", "),
        })?;
        tracing::debug!(tool = tool.name, client = call.client.principal(), "call");
        call.client.roots().ready().await;
        self.ask_login_shell().await;
        let _attending = call.client.attend();
        let context = Context {
            server: self.clone(),
            cancel: call.client.over().child_token(),
            client: call.client,
            progress: call.progress,
            asker: call.asker,
            used: OnceLock::new(),
        };
        let cancelled = async {
            call.cancel.cancelled().await;
            context.cancel.cancel();
            // The tool stops by itself and in order; it is not dropped half-way.
            std::future::pending().await
        };
        let mut result = tokio::select! {
            result = (tool.run)(call.arguments, &context) => result,
            never = cancelled => never,
        };
        if let Some(session) = context.used.get() {
            session.keepers().look_after(session.has_running()).await;
        }
        announce_ended_tasks(&context, &mut result);
        tracing::debug!(tool = tool.name, error = result.is_err(), "answer");
        Ok(result)
    }

    pub fn tools(&self) -> &[&'static Entry] {
        &self.tools
    }

    pub fn instructions(&self) -> String {
        instructions::text(&self.config, &self.workplace(&[]), self.confinement.found_so_far())
    }

    /// Before the first call of a server that was started without a shell, see [`exec::Login`]: in a sandbox without a
    /// scope, so that start-up files which an agent may have written reach nothing.
    async fn ask_login_shell(&self) {
        let (server, settings) = (&self.config.environment, &self.config.env);
        if self.login.initialized() || !exec::login_shell_wanted(server, settings) {
            return;
        }
        let ask = async || {
            let get = |name: &str| server.iter().find(|(key, _)| key == name).map(|(_, value)| PathBuf::from(value));
            let shell = get("SHELL").filter(|shell| shell.is_absolute() && shell.exists());
            let login = exec::Login {
                shell: shell.unwrap_or_else(|| self.shell.path().to_owned()),
                home: get("HOME").unwrap_or_else(|| PathBuf::from("/")),
            };
            let tmp = self.store.temporary_directory().ok()?;
            let profile = self.confinement.profile(&[], &tmp).await.ok()?;
            let keeper = exec::Keeper::launch(profile).await.ok()?;
            Some(login.extend(&keeper, server, settings).await)
        };
        self.login.get_or_init(async || ask().await.unwrap_or_else(|| self.initial.clone())).await;
    }

    /// Tries the sandbox before anybody relies on it; what was found stands in the instructions.
    pub async fn self_test(&self) -> &Found {
        let scope = self.workplace(&[]).directories;
        let tmp = self.store.temporary_directory().unwrap_or_else(|_| std::env::temp_dir());
        let found = self.confinement.found(&scope, &tmp).await;
        // An idle server has no other processes.
        drop(self.confinement.take_spare());
        self.confinement.prepare_sentry(scope);
        found
    }

    pub fn config(&self) -> &Config {
        &self.config
    }

    pub fn gate(&self) -> &Gate {
        &self.gate
    }

    pub fn shell(&self) -> &Shell {
        &self.shell
    }

    pub fn store(&self) -> &Store {
        &self.store
    }

    pub fn clients(&self) -> &Arc<Clients> {
        &self.clients
    }

    /// More than one client may come, each with sessions of its own.
    pub fn expect_many_clients(&self) {
        exec::raise_descriptor_limit();
    }

    /// Where work happens for a client with these roots.
    pub fn workplace(&self, roots: &[PathBuf]) -> Workplace {
        Workplace::new(&self.config.directories, roots)
    }

    /// What a command finds in its environment before a session has changed it.
    pub fn environment(&self) -> Vec<(OsString, OsString)> {
        self.login.get().unwrap_or(&self.initial).clone()
    }

    /// What the policy must know of where commands run.
    pub fn surroundings(&self, workplace: &Workplace) -> Surroundings {
        let path = |name: &str| variable(&self.initial, name).map(PathBuf::from).filter(|path| path.is_absolute());
        Surroundings {
            project_dir: workplace.project_dir.clone(),
            home: path("HOME"),
            writable: [Some(PathBuf::from("/tmp")), path("TMPDIR")].into_iter().flatten().collect(),
            search_path: variable(&self.initial, "PATH").unwrap_or_default(),
            protected: self.confinement.protected_names(),
        }
    }

    /// As every session begins; `name` is for people.
    pub fn new_session(&self, workplace: Option<Workplace>, name: String) -> Session {
        let environment = self.environment();
        let workplace = workplace.unwrap_or_else(|| self.workplace(&[]));
        let keepers = Keepers::new(self.confinement.clone(), self.store.temporary_directory());
        let approvals = Approvals::new(Ledger::new(self.store.ledger()), name);
        Session::new(workplace, environment, self.config.files.deny.clone(), keepers, approvals)
    }

    /// Ends every session with all its processes; safe to call more than once.
    pub async fn shut_down(&self) {
        self.clients.end_all().await;
        self.store.remove();
    }
}

/// A task that has ended announces itself once, on its session's next result; so does what the sandbox did by itself.
fn announce_ended_tasks(context: &Context, result: &mut Result<ToolOutput, ToolError>) {
    let (Some(session), Ok(output)) = (context.used.get(), result) else { return };
    for note in session.keepers().take_notes() {
        output.add_line(&format!("[sandbox: {note}]"));
    }
    for (id, exit_code) in session.tasks().newly_ended() {
        output.add_line(&format!("[task {id} has ended with exit code {exit_code}: read it with task_output]"));
    }
}

fn variable(environment: &[(OsString, OsString)], name: &str) -> Option<OsString> {
    environment.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone())
}
