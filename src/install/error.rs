use std::io;
use std::path::PathBuf;

use super::edit::Fault;

/// Why a client's configuration was not changed. The message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    #[error("there is no home directory to look for the configuration in; set HOME")]
    NoHome,
    #[error("{title} has no configuration for a single project; leave --project out")]
    NoProjectFile { title: &'static str },
    #[error("failed to read {}: {error}; nothing was changed", path.display())]
    Unreadable { path: PathBuf, error: io::Error },
    #[error("failed to understand {}: {fault}; nothing was changed. Correct the file and try again", path.display())]
    Broken { path: PathBuf, fault: Fault },
    #[error("failed to change {}: {fault}; nothing was changed. Change the entry {entry:?} by hand: {snippet}", path.display())]
    Layout { path: PathBuf, fault: Fault, entry: String, snippet: String },
    #[error(
        "{} already has an entry \"testudo\" of another kind ({kind}); nothing was changed. Remove it with --uninstall, or \
         by hand, and try again",
        path.display()
    )]
    OtherEntry { path: PathBuf, kind: String },
    #[error("{} was changed by another program at the same moment; nothing was changed. Try again", path.display())]
    Overtaken { path: PathBuf },
    #[error("failed to write {}: {error}; nothing was changed", path.display())]
    Unwritable { path: PathBuf, error: io::Error },
}
