use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use super::{Call, Clients, Context, Session, instructions};
use crate::config::Config;
use crate::exec::{Shell, ShellState, Store};
use crate::files::Scope;
use crate::gate::{Gate, Surroundings};
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
            environment: crate::exec::initial_environment(config.environment.clone()),
        };
        let scope = Scope::of_directories(&config.directories.scope(), config.files.deny.clone());
        let scope = scope.unwrap_or_else(|error| {
            tracing::warn!(%error, "file tools have no directory to work in");
            Scope::new(Vec::new(), config.files.deny.clone())
        });
        Ok(Arc::new(Self {
            scope,
            gate: Gate::new(policy, surroundings(&config, &initial)),
            shell: Shell::find(),
            store,
            tools: tools::offered(&config.tools),
            initial,
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
        instructions::text(&self.config)
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
        Session::new(self.initial.clone(), self.scope.clone())
    }

    /// Ends every session with all its processes; safe to call more than once.
    pub async fn shut_down(&self) {
        self.clients.end_all().await;
        self.store.remove();
    }
}

/// A task that has ended announces itself once, on its session's next result.
fn announce_ended_tasks(context: &Context, result: &mut Result<ToolOutput, ToolError>) {
    let (Some(session), Ok(output)) = (context.used.get(), result) else { return };
    for (id, exit_code) in session.tasks().newly_ended() {
        output.add_line(&format!("[task {id} has ended with exit code {exit_code}: read it with task_output]"));
    }
}

/// What the policy must know of where commands run.
pub fn surroundings(config: &Config, initial: &ShellState) -> Surroundings {
    let path = |name: &str| initial.variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    Surroundings {
        project_dir: config.directories.project_dir().to_owned(),
        home: path("HOME"),
        writable: [Some(PathBuf::from("/tmp")), path("TMPDIR")].into_iter().flatten().collect(),
        search_path: initial.variable("PATH").unwrap_or_default(),
    }
}
