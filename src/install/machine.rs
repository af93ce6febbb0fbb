use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use crate::base::search_path;

/// The operating system, which decides where programs keep their configuration.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Platform {
    Linux,
    MacOs,
    Windows,
}

impl Platform {
    pub const HERE: Self = if cfg!(target_os = "macos") {
        Self::MacOs
    } else if cfg!(windows) {
        Self::Windows
    } else {
        Self::Linux
    };
}

/// Whose clients are looked at, and where.
#[derive(Clone, Debug)]
pub struct Machine {
    pub platform: Platform,
    pub environment: Vec<(OsString, OsString)>,
    /// The directory whose configuration `--project` means.
    pub project: PathBuf,
}

impl Machine {
    /// A variable that is set and not empty.
    pub fn variable(&self, name: &str) -> Option<&OsStr> {
        search_path::variable(&self.environment, name)
    }

    /// A directory named by a variable.
    pub fn directory(&self, variable: &str) -> Option<PathBuf> {
        self.variable(variable).map(PathBuf::from).filter(|path| path.is_absolute())
    }

    pub fn home(&self) -> Option<PathBuf> {
        self.directory(if self.platform == Platform::Windows { "USERPROFILE" } else { "HOME" })
    }

    /// Whether a program of this name is in the search path.
    pub fn has_program(&self, name: &str) -> bool {
        search_path::program(&self.environment, name).is_some()
    }
}
