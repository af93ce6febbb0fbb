use std::path::{Path, PathBuf};

/// Where work happens: absolute, existing directories.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Directories {
    pub launch_dir: PathBuf,
    pub project_dir: Option<PathBuf>,
}

impl Directories {
    pub fn project_dir(&self) -> &Path {
        self.project_dir.as_ref().unwrap_or(&self.launch_dir)
    }
}
