use serde::Deserialize;

use super::{AllowedCommands, Verdict};

/// The `[policy]` section of the configuration, and `ALLOWED_COMMANDS`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// The verdict on commands that no rule names. If it is not set, see `Policy::unlisted`.
    #[serde(deserialize_with = "verdict_or_empty")]
    pub unlisted: Option<Verdict>,
    /// Each entry is the first words of a command: `"rm"`, `"git push"`. `"@safe"` is a list of commands that only look.
    pub allow: Vec<String>,
    pub ask: Vec<String>,
    pub deny: Vec<String>,
    /// Rules with a reason and examples.
    pub rule: Vec<RuleSettings>,
    /// Entries like `run_shell_command(git)`. These commands are allowed, all others are asked about.
    pub core_tools: Vec<String>,
    /// Entries of the same form. These commands are denied.
    pub exclude_tools: Vec<String>,
    /// Allows programs that are named by a path and are files of the project.
    pub allow_project_commands: bool,
    #[serde(skip)]
    pub allowed_commands: AllowedCommands,
}

/// One `[[policy.rule]]`.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct RuleSettings {
    pub command: String,
    pub verdict: Verdict,
    #[serde(default)]
    pub reason: String,
    /// Command lines that the rule must name. They are checked when the server starts.
    #[serde(default, rename = "match")]
    pub matches: Vec<String>,
    /// Command lines that the rule must not name.
    #[serde(default)]
    pub not_match: Vec<String>,
    #[serde(default)]
    pub arguments: Arguments,
    /// More room for what the rule lets through: see `Grant`.
    #[serde(default)]
    pub grants: Vec<String>,
}

/// Which arguments a rule that allows a program covers.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum Arguments {
    /// Only arguments that are known to run nothing else.
    #[default]
    Vetted,
    Any,
}

fn verdict_or_empty<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Verdict>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Verdict(Verdict),
        Text(String),
    }
    match Written::deserialize(deserializer)? {
        Written::Verdict(verdict) => Ok(Some(verdict)),
        Written::Text(text) if text.is_empty() => Ok(None),
        Written::Text(text) => Err(serde::de::Error::custom(format!("{text:?} is not allow, ask or deny"))),
    }
}
