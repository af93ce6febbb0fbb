//! Configuration: defaults ⊕ file ⊕ environment ⊕ flags, each later one winning.
//!
//! Every module owns its `Settings`; here they are put together. What a person may write is in `defaults.toml` (the
//! manual) and in [`options`] (the flags and variables); [`mod@load`] merges and complains.

mod directories;
mod http;
mod load;
pub mod options;

use std::ffi::OsString;
use std::path::PathBuf;

pub use directories::{Directories, OfferedRoot};
pub use load::{ConfigError, Source, load};

/// The embedded manual.
pub const DEFAULTS: &str = include_str!("defaults.toml");

/// What the server runs with, checked and ready to use.
#[derive(Clone, Debug)]
pub struct Config {
    pub transport: Transport,
    pub directories: Directories,
    pub tools: crate::tools::Settings,
    pub exec: crate::exec::Settings,
    pub files: crate::files::Settings,
    pub policy: crate::policy::Settings,
    pub sandbox: crate::sandbox::Settings,
    pub env: crate::exec::EnvironmentSettings,
    pub http: crate::transport::Settings,
    pub log: Log,
    /// The file that was read, if there was one.
    pub file: Option<PathBuf>,
    /// For stored outputs.
    pub cache_dir: PathBuf,
    /// The server's own environment, which its commands start from.
    pub environment: Vec<(OsString, OsString)>,
    /// `ALLOWED_CWD_ROOTS`: where `execute_command` may be told to run; anywhere when empty.
    pub cwd_roots: Vec<String>,
    /// What looks like a mistake but does not stop the start.
    pub warnings: Vec<String>,
}

#[derive(Clone, Copy, Debug, serde::Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    Stdio,
    Http,
}

/// `[log]`.
#[derive(Clone, Copy, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Log {
    pub level: LogLevel,
    pub format: LogFormat,
}

#[derive(Clone, Copy, Debug, serde::Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

#[derive(Clone, Copy, Debug, serde::Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    Text,
    Json,
}
