use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::base::protected_names::Names;
use crate::policy::{Overlaid, Scene, Subject};

/// What the policy must know about the place where actions happen. It is the same for every action in one workplace.
#[derive(Clone, Debug)]
pub struct Surroundings {
    pub project_dir: PathBuf,
    pub home: Option<PathBuf>,
    /// Directories besides the project that commands may write without being asked about.
    pub writable: Vec<PathBuf>,
    /// Directories in which commands can replace programs, besides the writable ones: the rest of the scope.
    pub replaceable: Vec<PathBuf>,
    /// The home directory, if commands write it and what they write goes to a layer over it.
    pub overlaid: Option<Overlaid>,
    /// Whether approvals can be kept for good: commands and file tools must be unable to write them.
    pub keeps_approvals: bool,
    /// Names that commands may not write unasked: `sandbox.protect`.
    pub protected: Arc<Names>,
    /// The `PATH` of a session that has not changed it.
    pub search_path: OsString,
}

impl Surroundings {
    /// The scene of one action: the surroundings, with the action's own directory and `PATH`.
    pub fn scene(&self, subject: &Subject<'_>) -> Scene {
        let (cwd, usual_path): (&Path, bool) = match subject {
            Subject::ShellText { cwd, search_path, .. } => {
                (cwd, search_path.is_none_or(|path| *path == self.search_path))
            }
            Subject::Words { cwd, .. } => (cwd, true),
            Subject::Input(_) | Subject::Read(_) | Subject::Write { .. } | Subject::Host(_) => {
                (&self.project_dir, true)
            }
        };
        let writable: Vec<PathBuf> = [&self.project_dir].into_iter().chain(&self.writable).cloned().collect();
        Scene {
            cwd: cwd.to_owned(),
            project_dir: self.project_dir.clone(),
            home: self.home.clone(),
            replaceable: self.replaceable.iter().chain(&writable).cloned().collect(),
            overlaid: self.overlaid.clone(),
            writable,
            protected: self.protected.clone(),
            usual_path,
        }
    }
}
