use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::base::{mounts, search_path};
use crate::policy::{Overlaid, ProgramLookup, Scene};
use crate::sandbox::home::upper;

/// Looks programs and paths up on the machine that the server runs on. It always uses the `PATH` that the server was
/// started with, even when a session has changed its own.
#[derive(Clone, Debug)]
pub struct Machine {
    path: Vec<PathBuf>,
    /// Every entry of the `PATH`, as it is written and with its links resolved. A shell searches the relative ones too.
    entries: Vec<[PathBuf; 2]>,
}

impl Machine {
    pub fn new(path: &OsStr) -> Self {
        let both = |entry: PathBuf| [entry.canonicalize().unwrap_or_else(|_| entry.clone()), entry];
        Self { path: search_path::directories(path), entries: std::env::split_paths(path).map(both).collect() }
    }
}

impl ProgramLookup for Machine {
    fn find(&self, name: &str) -> Option<PathBuf> {
        search_path::find(&self.path, name)
    }

    fn can_be_shadowed(&self, name: &str, scene: &Scene) -> bool {
        let found = self.find(name).and_then(|file| file.parent().map(Path::to_owned));
        let before = self.entries.iter().take_while(|[_, written]| found.as_ref() != Some(written));
        let replaced =
            |path: &PathBuf| path.is_relative() || scene.replaceable.iter().any(|root| path.starts_with(root));
        let in_layer =
            |path: &PathBuf| scene.overlaid.as_ref().is_some_and(|layer| self.is_in_layer(&path.join(name), layer));
        before.into_iter().any(|[real, written]| replaced(written) || replaced(real) || in_layer(written))
    }

    fn is_in_layer(&self, file: &Path, layer: &Overlaid) -> bool {
        let directory = file.parent().map(|directory| self.real(directory));
        let named = directory.zip(file.file_name()).map(|(directory, name)| directory.join(name));
        let in_layer =
            |path: PathBuf| path.strip_prefix(&layer.home).is_ok_and(|below| upper::decides(&layer.upper, below));
        named.is_some_and(in_layer) || in_layer(self.real(file))
    }

    fn real(&self, path: &Path) -> PathBuf {
        // A file system that does not answer cannot be asked. A command that goes there does not come back either.
        if !mounts::answers(path) {
            return path.to_owned();
        }
        let mut rest = Vec::new();
        for ancestor in path.ancestors() {
            if let Ok(real) = ancestor.canonicalize() {
                return rest.iter().rev().fold(real, |real, name: &&OsStr| real.join(name));
            }
            // An ancestor that ends with `..` has no file name. `..` behind a missing directory stays as it is, because
            // the kernel does not resolve it either.
            rest.push(ancestor.file_name().unwrap_or(OsStr::new("..")));
        }
        path.to_owned()
    }
}
