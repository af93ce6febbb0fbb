use std::path::{Path, PathBuf};

/// What the policy must know of the machine. The gate answers from the file system, tests from a table.
pub trait Programs {
    /// The file that a bare program name runs, in the PATH that the server was started with.
    fn find(&self, name: &str) -> Option<PathBuf>;

    /// The path with its links resolved as far as it exists.
    fn real(&self, path: &Path) -> PathBuf;
}

/// A machine where every name is its own program and no path is a link.
#[derive(Clone, Copy, Debug)]
pub struct Unknown;

impl Programs for Unknown {
    fn find(&self, _: &str) -> Option<PathBuf> {
        None
    }

    fn real(&self, path: &Path) -> PathBuf {
        path.to_owned()
    }
}
