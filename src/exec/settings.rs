use serde::Deserialize;

/// What the command tools share: `timeout` at the top of the configuration and the `[output]` table.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Seconds before a command is ended, unless the call says otherwise.
    pub timeout: u64,
    pub output: OutputSettings,
}

/// `[output]` of the configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutputSettings {
    /// Characters of each stream that a result shows.
    pub view_characters: usize,
    /// Bytes of each stream that are kept on disk.
    #[serde(deserialize_with = "crate::config::size")]
    pub store_bytes: u64,
}
