use std::path::PathBuf;

use super::DenyGlobs;

/// The settings that all file tools share.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The largest file that is read whole or written, in bytes.
    pub max_file_size: u64,
    /// Whether the sandbox mode forbids every write.
    pub read_only: bool,
    /// What is out of bounds even inside the scope.
    pub deny: DenyGlobs,
    /// The directory that `~` stands for.
    pub home: Option<PathBuf>,
}
