use std::path::PathBuf;

use serde::Deserialize;

use super::one_or_more::one_or_more;
use super::{ConfigError, Directories, Source};

/// The directories as written: keys at the top of the configuration. An empty text means "not set".
#[derive(Debug, Deserialize)]
pub struct DirectorySettings {
    workdir: String,
    project_dir: String,
    workspace_dir: String,
    #[serde(deserialize_with = "one_or_more")]
    allow_dir: Vec<String>,
    #[serde(deserialize_with = "one_or_more")]
    pub deny_dir: Vec<String>,
}

/// The launch directory if none is named.
const CURRENT: &str = ".";

impl DirectorySettings {
    /// Every directory that is named must exist and be readable.
    pub fn resolve(&self, source: &Source) -> Result<Directories, ConfigError> {
        let optional = |flag: &str, text: &str| {
            if text.is_empty() { Ok(None) } else { existing(source, flag, text).map(Some) }
        };
        let allowed = self.allow_dir.iter().map(|text| existing(source, "--allow-dir", text));
        let (project_dir, allow_dirs): (_, Vec<_>) =
            (optional("--project-dir", &self.project_dir)?, allowed.collect::<Result<_, _>>()?);
        let launch_dir =
            match (existing(source, "--workdir", &self.workdir), project_dir.iter().chain(&allow_dirs).next()) {
                (Ok(directory), _) => directory,
                // Where the server was started does not matter if the operator says where work happens.
                (Err(_), Some(named)) if self.workdir == CURRENT => named.clone(),
                (Err(error), _) => return Err(self.unless_given(error)),
            };
        Ok(Directories {
            launch_dir,
            launch_dir_is_explicit: self.workdir != CURRENT,
            project_dir,
            workspace_dir: optional("--workspace-dir", &self.workspace_dir)?,
            allow_dirs,
            home: source.home().and_then(|home| home.canonicalize().ok()),
            roots_stay_within: false,
        })
    }
}

impl DirectorySettings {
    /// Nobody who was simply started in a bad directory should read about a flag that was not given.
    fn unless_given(&self, error: ConfigError) -> ConfigError {
        match error {
            ConfigError::BadValue { reason, .. } if self.workdir == CURRENT => ConfigError::CurrentDirectory { reason },
            error => error,
        }
    }
}

fn existing(source: &Source, flag: &str, text: &str) -> Result<PathBuf, ConfigError> {
    let path = source.expand(text);
    if path.is_relative() {
        return Err(ConfigError::bad_value(
            flag,
            format!("{text}: the directory that the server was started in is gone"),
        ));
    }
    let readable = path.canonicalize().and_then(|real| std::fs::read_dir(&real).map(|_| real));
    readable.map_err(|error| ConfigError::bad_value(flag, format!("{}: {error}", path.display())))
}
