use std::path::{Path, PathBuf};

use super::{Overlaid, Scene};

/// What the policy must know about the machine. The gate looks it up in the file system, tests in a table.
pub trait ProgramLookup {
    /// The file that a bare program name runs, by the `PATH` that the server was started with.
    fn find(&self, name: &str) -> Option<PathBuf>;

    /// The path with its links resolved, as far as it exists.
    fn real(&self, path: &Path) -> PathBuf;

    /// Whether the `PATH` has a directory in which commands can replace programs, or a relative one, in front of the
    /// directory in which the program is found. A file that a command puts there would run instead.
    fn can_be_shadowed(&self, name: &str, scene: &Scene) -> bool;

    /// Whether commands see a file of their own at this path of the home, because the layer over it has one.
    fn is_in_layer(&self, file: &Path, layer: &Overlaid) -> bool;
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

    fn can_be_shadowed(&self, _: &str, _: &Scene) -> bool {
        false
    }

    fn is_in_layer(&self, _: &Path, _: &Overlaid) -> bool {
        false
    }
}
