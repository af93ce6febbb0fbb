use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::base::protected_names::Names;

/// Where a command will run. The meaning of its relative paths and program names depends on this.
#[derive(Clone, Debug)]
pub struct Scene {
    pub cwd: PathBuf,
    pub project_dir: PathBuf,
    pub home: Option<PathBuf>,
    /// Directories that a command may write without being asked about: the project and the temporary directories.
    pub writable: Vec<PathBuf>,
    /// Directories in which commands can replace programs: the scope and the temporary directories.
    pub replaceable: Vec<PathBuf>,
    /// The home directory, if commands write it and what they write goes to a layer over it.
    pub overlaid: Option<Overlaid>,
    /// Names inside the writable directories that a command may not write unasked: the configured `sandbox.protect`.
    pub protected: Arc<Names>,
    /// Whether the shell's `PATH` is still the one that the server was started with. After `export PATH=…` it is not,
    /// and a program name may run another file than the one we look up.
    pub usual_path: bool,
}

/// A home directory with a layer over it.
#[derive(Clone, Debug)]
pub struct Overlaid {
    /// Without symbolic links.
    pub home: PathBuf,
    /// The directory that holds what commands wrote.
    pub upper: PathBuf,
}

impl Scene {
    /// Commands run in the project and may write it and `/tmp`. There is no home directory and no protected name.
    pub fn in_project(project_dir: &Path) -> Self {
        Self {
            cwd: project_dir.to_owned(),
            project_dir: project_dir.to_owned(),
            home: None,
            writable: vec![project_dir.to_owned(), "/tmp".into()],
            replaceable: vec![project_dir.to_owned(), "/tmp".into()],
            overlaid: None,
            protected: Arc::default(),
            usual_path: true,
        }
    }
}
