use serde::Deserialize;

/// `[audit]` of the configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    pub enabled: bool,
    /// Calls are refused while the log cannot be written.
    pub required: bool,
    /// The file is put aside when it has this many bytes.
    #[serde(deserialize_with = "crate::base::size::size")]
    pub max_size: u64,
    /// How many files that were put aside are kept.
    pub keep: u32,
}
