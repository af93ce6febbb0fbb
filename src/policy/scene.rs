use std::path::{Path, PathBuf};

/// Where a command is to run: what the meaning of its relative names depends on.
#[derive(Clone, Debug)]
pub struct Scene {
    pub cwd: PathBuf,
    pub project_dir: PathBuf,
    pub home: Option<PathBuf>,
    /// Where a redirection may write: the project and the temporary directory.
    pub writable: Vec<PathBuf>,
    /// Whether the shell looks names up where we do; after `export PATH=…` it does not.
    pub usual_path: bool,
}

impl Scene {
    /// In the project itself, which may be written, with nothing else known.
    pub fn in_project(project_dir: &Path) -> Self {
        Self {
            cwd: project_dir.to_owned(),
            project_dir: project_dir.to_owned(),
            home: None,
            writable: vec![project_dir.to_owned(), "/tmp".into()],
            usual_path: true,
        }
    }
}
