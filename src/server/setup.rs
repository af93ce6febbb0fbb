use std::sync::Arc;

use super::{Basis, ToolEntry};
use crate::base::search_path::variable;
use crate::config::{Config, ConfigError, Effect};
use crate::exec::ServerDirectory;
use crate::gate::{Gate, Machine};
use crate::policy::{Policy, RuleError};

/// What a configuration comes to. When the file changes, the next one takes its place as a whole.
pub struct Setup {
    pub config: Arc<Config>,
    pub gate: Arc<Gate>,
    pub tools: Vec<&'static ToolEntry>,
    /// For the sessions that begin now.
    pub basis: Arc<Basis>,
}

/// Why a configuration that could be read cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error(transparent)]
    Rule(#[from] RuleError),
    #[error(transparent)]
    Config(#[from] ConfigError),
}

impl Setup {
    /// `table` has all tools; the configuration chooses from it.
    pub fn new(config: Config, table: &'static [ToolEntry], directory: &ServerDirectory) -> Result<Self, SetupError> {
        let checked = Checked::new(config, table)?;
        let basis = Arc::new(Basis::new(checked.config.clone(), directory));
        Ok(checked.on(basis))
    }

    /// `changed` names the settings that differ from those of `former`.
    pub fn renewed(
        former: &Self,
        config: Config,
        changed: &[String],
        table: &'static [ToolEntry],
        directory: &ServerDirectory,
    ) -> Result<Self, SetupError> {
        let checked = Checked::new(config, table)?;
        let same = changed.iter().all(|key| Effect::of(key) != Effect::NewSessions);
        let basis = if same {
            former.basis.clone()
        } else {
            Arc::new(Basis::renewed(&former.basis, checked.config.clone(), directory))
        };
        Ok(checked.on(basis))
    }
}

/// A configuration whose rules and names are right. Nothing was made or started for it.
struct Checked {
    config: Arc<Config>,
    policy: Policy,
    tools: Vec<&'static ToolEntry>,
}

impl Checked {
    fn new(mut config: Config, table: &'static [ToolEntry]) -> Result<Self, SetupError> {
        config.tools.check(&table.iter().map(|entry| entry.name).collect::<Vec<_>>())?;
        let policy = Policy::new(&config.policy)?;
        config.state_dir = config.state_dir.canonicalize().unwrap_or(config.state_dir);
        let tools = table.iter().filter(|entry| config.tools.offers(entry.name, entry.toolsets)).collect();
        Ok(Self { config: Arc::new(config), policy, tools })
    }

    fn on(self, basis: Arc<Basis>) -> Setup {
        let machine = Machine::new(variable(basis.initial(), "PATH").unwrap_or_default());
        let gate = Arc::new(Gate::new(self.policy, machine));
        Setup { config: self.config, gate, tools: self.tools, basis }
    }
}
