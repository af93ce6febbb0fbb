use std::path::{Path, PathBuf};

/// What the policy must know about the machine. The gate looks it up in the file system, tests in a table.
pub trait ProgramLookup {
    /// The file that a bare program name runs, by the `PATH` that the server was started with.
    fn find(&self, name: &str) -> Option<PathBuf>;

    /// The path with its links resolved, as far as it exists.
    fn real(&self, path: &Path) -> PathBuf;
}

/// A machine of which nothing is known: no program is found, and no path is a link.
#[derive(Clone, Copy, Debug)]
pub struct UnknownMachine;

impl ProgramLookup for UnknownMachine {
    fn find(&self, _: &str) -> Option<PathBuf> {
        None
    }

    fn real(&self, path: &Path) -> PathBuf {
        path.to_owned()
    }
}
