use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::base::search_path;
use crate::policy::Programs;

/// The machine the server runs on, as the policy needs to know it. The PATH is the one the server was started with: what
/// a session does to its own changes nothing here.
#[derive(Clone, Debug)]
pub struct Machine {
    path: Vec<PathBuf>,
}

impl Machine {
    pub fn new(path: &OsStr) -> Self {
        Self { path: search_path::directories(path) }
    }
}

impl Programs for Machine {
    fn find(&self, name: &str) -> Option<PathBuf> {
        search_path::find(&self.path, name)
    }

    fn real(&self, path: &Path) -> PathBuf {
        let mut rest = Vec::new();
        for ancestor in path.ancestors() {
            if let Ok(real) = ancestor.canonicalize() {
                return rest.iter().rev().fold(real, |real, name: &&OsStr| real.join(name));
            }
            // `..` behind what does not exist has no name; the kernel would not resolve it either.
            rest.push(ancestor.file_name().unwrap_or(OsStr::new("..")));
        }
        path.to_owned()
    }
}
