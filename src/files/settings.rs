use std::path::PathBuf;

use super::DenyGlobs;

/// What the file tools share.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The largest file that is read whole or written, in bytes.
    pub max_file_size: u64,
    /// Whether the sandbox mode forbids every write.
    pub read_only: bool,
    /// What is out of bounds whatever the scope says.
    pub deny: DenyGlobs,
    /// What `~` stands for.
    pub home: Option<PathBuf>,
}
