use serde::{Deserialize, Deserializer, de::Error};

use super::one_or_more::one_or_more;
use super::{ConfigError, Toolset};
use crate::base::spelling;

/// Which tools are offered: keys at the top of the configuration.
#[derive(Clone, Debug, Deserialize)]
pub struct ToolSettings {
    #[serde(deserialize_with = "toolsets")]
    toolset: Vec<Toolset>,
    anthropic_compat: bool,
    /// As written. Only the table of tools knows whether these names exist.
    #[serde(deserialize_with = "one_or_more")]
    pub disable_tools: Vec<String>,
}

impl ToolSettings {
    /// Refuses `--disable-tools` with a name that no tool has.
    pub fn check(&self, valid: &[&str]) -> Result<(), ConfigError> {
        let Some(unknown) = self.disable_tools.iter().find(|name| !valid.contains(&name.as_str())) else {
            return Ok(());
        };
        let near = spelling::nearest(unknown, valid.iter().copied());
        let suggestion = near.map(|name| format!("; did you mean {name}?")).unwrap_or_default();
        let reason = format!("unknown tool {unknown:?}{suggestion} (valid: {})", valid.join(", "));
        Err(ConfigError::bad_value("--disable-tools", reason))
    }

    /// Whether a tool that belongs to these toolsets is offered.
    pub fn offers(&self, tool: &str, toolsets: &[Toolset]) -> bool {
        let chosen = |toolset: &Toolset| *toolset == Toolset::All || toolsets.contains(toolset);
        self.chosen().iter().any(chosen) && !self.disables(tool)
    }

    pub fn disables(&self, tool: &str) -> bool {
        self.disable_tools.iter().any(|disabled| disabled == tool)
    }

    fn chosen(&self) -> &[Toolset] {
        if self.anthropic_compat { &[Toolset::Anthropic] } else { &self.toolset }
    }
}

fn toolsets<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Toolset>, D::Error> {
    let names = one_or_more(deserializer)?;
    names.iter().map(|name| name.parse().map_err(D::Error::custom)).collect()
}
