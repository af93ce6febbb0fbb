use serde::Deserialize;

use super::{AllowedCommands, Verdict};

/// `[policy]` of the configuration, and `ALLOWED_COMMANDS`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// What no rule names; unset, it depends on whether anything is allowed by name.
    #[serde(deserialize_with = "verdict_or_empty")]
    pub unlisted: Option<Verdict>,
    /// Commands as words, each an argument-wise prefix: `"rm"`, `"git push"`.
    pub allow: Vec<String>,
    pub ask: Vec<String>,
    pub deny: Vec<String>,
    /// The long form, with a reason and examples.
    pub rule: Vec<RuleSettings>,
    /// Entries like `run_shell_command(git)`: what is allowed, the rest is asked about.
    pub core_tools: Vec<String>,
    /// The same form: what is denied.
    pub exclude_tools: Vec<String>,
    /// Programs named by a path are allowed if they are files of the project.
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
    /// Command lines that the rule must name; checked at start.
    #[serde(default, rename = "match")]
    pub matches: Vec<String>,
    /// Command lines that it must not name.
    #[serde(default)]
    pub not_match: Vec<String>,
    #[serde(default)]
    pub arguments: Arguments,
}

/// How far an allowing rule trusts a program's arguments.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum Arguments {
    /// Those that are known to run nothing else.
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
