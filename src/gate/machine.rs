use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::policy::Programs;

/// The machine the server runs on, as the policy needs to know it. The PATH is the one the server was started with: what
/// a session does to its own changes nothing here.
#[derive(Clone, Debug)]
pub struct Machine {
    path: Vec<PathBuf>,
}

impl Machine {
    pub fn new(search_path: &OsStr) -> Self {
        let entries = search_path.as_bytes().split(|byte| *byte == b':');
        // A relative entry depends on where one stands, so no name is looked up there.
        let path = entries.map(|entry| PathBuf::from(OsStr::from_bytes(entry))).filter(|entry| entry.is_absolute());
        Self { path: path.collect() }
    }
}

impl Programs for Machine {
    fn find(&self, name: &str) -> Option<PathBuf> {
        let runs = |file: &PathBuf| rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok() && file.is_file();
        self.path.iter().map(|directory| directory.join(name)).find(runs)
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
