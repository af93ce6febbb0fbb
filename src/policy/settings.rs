use serde::Deserialize;

/// `[policy]` of the configuration.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Programs that are never run, each as words: `"rm"`, `"git push"`.
    pub deny: Vec<String>,
}
