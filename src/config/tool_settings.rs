use serde::{Deserialize, Deserializer, de::Error};

use super::Toolset;
use super::one_or_more::one_or_more;

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
