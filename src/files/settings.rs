use std::path::PathBuf;

use serde::Deserialize;

use super::DenyGlobs;

/// The settings that all file tools share.
#[derive(Clone, Debug, Deserialize)]
pub struct Settings {
    /// The largest file that is read whole or written, in bytes.
    #[serde(deserialize_with = "crate::base::size::size")]
    pub max_file_size: u64,
    /// Whether the sandbox mode forbids every write.
    #[serde(skip)]
    pub read_only: bool,
    /// What is out of bounds even inside the scope.
    #[serde(skip)]
    pub deny: DenyGlobs,
    /// The directory that `~` stands for.
    #[serde(skip)]
    pub home: Option<PathBuf>,
}
