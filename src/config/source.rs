use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::options::{CONFIG_FLAG, CONFIG_VARIABLE};
use crate::base::search_path;

/// What the process was started with: everything a configuration is made from, besides the embedded defaults.
#[derive(Clone, Debug, Default)]
pub struct Source {
    pub environment: Vec<(OsString, OsString)>,
    /// Flag names without dashes, each with all values that were given for it.
    pub flags: Vec<(String, Vec<String>)>,
    /// None if it was removed.
    pub current_dir: Option<PathBuf>,
}

impl Source {
    /// A variable that is set and not empty.
    pub fn variable(&self, name: &str) -> Option<&OsStr> {
        search_path::variable(&self.environment, name)
    }

    pub fn home(&self) -> Option<&Path> {
        self.variable("HOME").map(Path::new)
    }

    /// Whether a flag or its variable was given. An empty variable name stands for a flag without one.
    pub fn gives(&self, flag: &str, variable: &str) -> bool {
        self.flags.iter().any(|(name, _)| name == flag) || self.variable(variable).is_some()
    }

    /// An absolute path: `~` is the home directory, and a relative path starts at the current directory.
    pub fn expand(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        match (path.strip_prefix("~"), self.home()) {
            (Ok(rest), Some(home)) => home.join(rest),
            _ => self.current_dir.as_deref().unwrap_or(Path::new("")).join(path),
        }
    }

    /// A directory of the XDG specification. There is none without a home directory.
    pub fn user_dir(&self, variable: &str, below_home: &str) -> Option<PathBuf> {
        let named = self.variable(variable).map(PathBuf::from).filter(|path| path.is_absolute());
        named.or_else(|| self.home().map(|home| home.join(below_home)))
    }

    /// The file to read. A file that was named is returned even if it is missing: that is an error.
    pub fn config_file(&self) -> Option<PathBuf> {
        let (path, named) = self.config_path()?;
        (named || path.exists()).then_some(path)
    }

    /// Where the file is or would be, and whether it was named.
    pub fn config_path(&self) -> Option<(PathBuf, bool)> {
        let flag = self.flags.iter().find(|(name, _)| name == CONFIG_FLAG).and_then(|(_, values)| values.last());
        let named = flag.map(PathBuf::from).or_else(|| self.variable(CONFIG_VARIABLE).map(PathBuf::from));
        match named {
            Some(path) => Some((self.expand(path), true)),
            None => self
                .user_dir("XDG_CONFIG_HOME", ".config")
                .map(|directory| (directory.join("testudo/config.toml"), false)),
        }
    }
}
