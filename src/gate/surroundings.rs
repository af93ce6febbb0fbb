use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::policy::{Scene, Subject};

/// What is the same for every action of this server.
#[derive(Clone, Debug)]
pub struct Surroundings {
    pub project_dir: PathBuf,
    pub home: Option<PathBuf>,
    /// Where commands may write without being asked about, besides the project.
    pub writable: Vec<PathBuf>,
    /// The PATH of a session that has not changed it.
    pub search_path: OsString,
}

impl Surroundings {
    /// As one action finds them.
    pub fn scene(&self, subject: &Subject<'_>) -> Scene {
        let (cwd, usual_path): (&Path, bool) = match subject {
            Subject::ShellText { cwd, search_path, .. } => {
                (cwd, search_path.is_none_or(|path| *path == self.search_path))
            }
            Subject::Words { cwd, .. } => (cwd, true),
            Subject::Input(_) | Subject::Read(_) | Subject::Write { .. } => (&self.project_dir, true),
        };
        Scene {
            cwd: cwd.to_owned(),
            project_dir: self.project_dir.clone(),
            home: self.home.clone(),
            writable: [&self.project_dir].into_iter().chain(&self.writable).cloned().collect(),
            usual_path,
        }
    }
}
