use std::ffi::OsString;
use std::path::PathBuf;

use serde::Deserialize;

use super::{Directories, FileStamp, HttpSettings, LogSettings, ToolSettings};
use crate::{audit, exec, files, network, policy, sandbox};

/// What the server runs with. Everything in it has been checked.
#[derive(Clone, Debug)]
pub struct Config {
    pub transport: Transport,
    pub directories: Directories,
    /// Whether the project is worked on as a draft.
    pub draft: bool,
    pub tools: ToolSettings,
    pub exec: exec::Settings,
    pub files: files::Settings,
    pub policy: policy::Settings,
    pub sandbox: sandbox::Settings,
    pub network: network::Settings,
    pub env: exec::EnvironmentSettings,
    pub http: HttpSettings,
    pub log: LogSettings,
    pub audit: audit::Settings,
    /// The configuration file that was read, if there was one.
    pub file: Option<PathBuf>,
    /// Where that file is, or would be.
    pub file_place: Option<PathBuf>,
    /// That file as it was when it was read, or `None` where there was none.
    pub file_stamp: Option<FileStamp>,
    /// Every setting as written, merged from all layers.
    pub written: toml::Table,
    /// Where stored outputs are kept.
    pub cache_dir: PathBuf,
    /// Where is kept what outlives servers: private homes, and approvals that are for good.
    pub state_dir: PathBuf,
    /// Where servers open their control sockets: the first one that can be used. People look in all of them.
    pub control_dirs: Vec<PathBuf>,
    /// The server's own environment without its token. Commands start from it.
    pub environment: Vec<(OsString, OsString)>,
    /// `ALLOWED_CWD_ROOTS` as written: the directories in which `execute_command` may be told to run. Relative ones start
    /// at the launch directory. Empty means no restriction.
    pub cwd_roots: Vec<String>,
    /// Our own program, for `ssh` inside a session.
    pub program: Option<PathBuf>,
    /// Likely mistakes that do not stop the start.
    pub warnings: Vec<String>,
}

impl Config {
    /// Files that hold what only the operator may know or decide: no command and no file tool may read them.
    pub fn secret_files(&self) -> impl Iterator<Item = &PathBuf> {
        self.file_place.iter().chain(&self.http.token_path)
    }
}

/// How clients reach the server.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    Stdio,
    Http,
}
