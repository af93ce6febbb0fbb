use std::path::{Path, PathBuf};

use super::answers;
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
    /// The client's roots, those included that do not count.
    pub roots: Vec<PathBuf>,
}

impl Workplace {
    /// Made from the flags and the client's roots. The log names the roots that do not count.
    pub fn new(flags: &Directories, roots: &[PathBuf]) -> Self {
        let mut offered = Vec::new();
        for root in roots {
            match real_directory(root) {
                Ok(real) => offered.push(OfferedRoot { named: root.clone(), real }),
                Err(error) => tracing::warn!(root = %root.display(), %error, "this root of the client is ignored"),
            }
        }
        let placed = flags.place(&offered);
        for (root, reason) in placed.ignored {
            tracing::warn!(root = %root.display(), "this root of the client is ignored: {reason}");
        }
        let (project_dir, start, directories) = (placed.project_dir, placed.start, placed.directories);
        Self { project_dir, start, directories, roots: roots.to_vec() }
    }

    /// The directories with links resolved, for the kernel. One whose file system hangs is left out: commands cannot use
    /// it anyway, and looking at it would never end.
    pub async fn real_directories(&self) -> Vec<PathBuf> {
        let mut answering = self.clone();
        for directory in &self.directories {
            if !answers(directory).await {
                answering.directories.retain(|other| other != directory);
            }
        }
        answering.resolved()
    }

    /// As [`Workplace::real_directories`], for a caller on a thread that may wait.
    pub fn resolved(&self) -> Vec<PathBuf> {
        let mut real: Vec<PathBuf> = self.directories.iter().filter_map(|path| path.canonicalize().ok()).collect();
        real.sort();
        real.dedup();
        real
    }

    /// The project directory with links resolved.
    pub async fn real_project(&self) -> PathBuf {
        let resolve =
            async || if answers(&self.project_dir).await { self.project_dir.canonicalize().ok() } else { None };
        resolve().await.unwrap_or_else(|| self.project_dir.clone())
    }

    /// The path relative to the directory of the scope that it lies in, whether it is given with links resolved or not.
    pub fn below(&self, path: &Path) -> Option<PathBuf> {
        let directories = self.directories.iter().cloned().chain(self.resolved());
        directories.into_iter().find_map(|directory| path.strip_prefix(directory).ok().map(Path::to_owned))
    }

    pub fn contains(&self, path: &Path) -> bool {
        self.directories.iter().any(|directory| path.starts_with(directory))
    }
}
