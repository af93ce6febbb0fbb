use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use super::confinement::Found;
use super::keepers::Keepers;
use super::{Call, Clients, Confinement, Context, Session, instructions};
use crate::config::Config;
use crate::exec::{self, Shell, ShellState, Store};
use crate::files::Scope;
use crate::gate::Gate;
use crate::policy::{Policy, RuleError};
use crate::tools::{self, Entry, ToolError, ToolOutput};

/// Everything that outlives a single request.
pub struct Server {
    config: Config,
    gate: Gate,
    shell: Shell,
    store: Store,
    tools: Vec<&'static Entry>,
    initial: ShellState,
    /// The initial environment with what a login shell adds, once it was asked.
    login: tokio::sync::OnceCell<Vec<(OsString, OsString)>>,
    confinement: Arc<Confinement>,
    clients: Arc<Clients>,
    scope: Scope,
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
        let initial = ShellState {
            cwd: config.directories.project_dir().to_owned(),
            environment: crate::exec::initial_environment(config.environment.clone(), &config.env),
        };
        let scope = Scope::of_directories(&config.directories.scope(), config.files.deny.clone());
        let scope = scope.unwrap_or_else(|error| {
            tracing::warn!(%error, "file tools have no directory to work in");
            Scope::new(Vec::new(), config.files.deny.clone())
        });
        Ok(Arc::new(Self {
            scope,
            gate: Gate::new(policy),
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
        self.ask_login_shell().await;
        let _attending = call.client.attend();
        let context = Context {
            server: self.clone(),
            cancel: call.client.over().child_token(),
            client: call.client,
            progress: call.progress,
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
        announce_ended_tasks(&context, &mut result);
        tracing::debug!(tool = tool.name, error = result.is_err(), "answer");
        Ok(result)
    }

    pub fn tools(&self) -> &[&'static Entry] {
        &self.tools
    }

    pub fn instructions(&self) -> String {
        instructions::text(&self.config, self.confinement.found_so_far())
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
        self.login.get_or_init(async || ask().await.unwrap_or_else(|| self.initial.environment.clone())).await;
    }

    /// Tries the sandbox before anybody relies on it; what was found stands in the instructions.
    pub async fn self_test(&self) -> &Found {
        let scope = self.scope.directories();
        let tmp = self.store.temporary_directory().unwrap_or_else(|_| std::env::temp_dir());
        let found = self.confinement.found(&scope, &tmp).await;
        // An idle server has no other processes.
        drop(self.confinement.take_spare());
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

    /// As every session begins.
    pub fn new_session(&self) -> Session {
        let mut initial = self.initial.clone();
        if let Some(environment) = self.login.get() {
            initial.environment.clone_from(environment);
        }
        let keepers = Keepers::new(self.confinement.clone(), self.store.temporary_directory());
        Session::new(initial, self.scope.clone(), keepers)
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
