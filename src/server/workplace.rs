use std::path::{Path, PathBuf};

use crate::config::{Directories, OfferedRoot};
use crate::files::real_directory;

/// Where a client's work happens. Both the scope of the file tools and what commands may write are made from it, so that
/// they cannot disagree.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Workplace {
    pub project_dir: PathBuf,
    /// The first cwd of a session.
    pub start: PathBuf,
    /// The directories in scope, besides the session's temporary one.
    pub directories: Vec<PathBuf>,
}

impl Workplace {
    /// Made from the flags and the client's roots. Roots that do not exist or lie outside the ceiling are left out.
    pub fn new(flags: &Directories, roots: &[PathBuf]) -> Self {
        let mut offered = Vec::new();
        for root in roots {
            match real_directory(root) {
                Ok(real) => offered.push(OfferedRoot { named: root.clone(), real }),
                Err(error) => tracing::warn!(root = %root.display(), %error, "this root of the client is ignored"),
            }
        }
        let placed = flags.place(&offered);
        for root in placed.ignored {
            tracing::warn!(root = %root.display(), "this root of the client is outside --allow-dir and ignored");
        }
        Self { project_dir: placed.project_dir, start: placed.start, directories: placed.directories }
    }

    /// The directories with links resolved, for the kernel.
    pub fn real_directories(&self) -> Vec<PathBuf> {
        let mut real: Vec<PathBuf> = self.directories.iter().filter_map(|path| path.canonicalize().ok()).collect();
        real.sort();
        real.dedup();
        real
    }

    /// The project directory with links resolved.
    pub fn real_project(&self) -> PathBuf {
        self.project_dir.canonicalize().unwrap_or_else(|_| self.project_dir.clone())
    }

    /// The path relative to the directory of the scope that it lies in, whether it is given with links resolved or not.
    pub fn below(&self, path: &Path) -> Option<PathBuf> {
        let directories = self.directories.iter().cloned().chain(self.real_directories());
        directories.into_iter().find_map(|directory| path.strip_prefix(directory).ok().map(Path::to_owned))
    }

    pub fn contains(&self, path: &Path) -> bool {
        self.directories.iter().any(|directory| path.starts_with(directory))
    }
}
