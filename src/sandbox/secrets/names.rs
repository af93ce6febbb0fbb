//! Which names there are in a directory. The catalogue has hundreds of names, and hardly any of them is on a machine: one look
//! at the directory tells that of all of them.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::base::mounts;

/// What was found when a directory was first asked about. For one search; the next one looks again.
#[derive(Debug, Default)]
pub struct Names {
    /// `None` for a directory that cannot be listed.
    known: HashMap<PathBuf, Option<HashSet<String>>>,
}

impl Names {
    /// Whether something may be at this path. If not, nothing is, however the name is written: some file systems do not tell
    /// capital letters from small ones.
    pub fn may_have(&mut self, path: &Path) -> bool {
        let Some((directory, name)) = path.parent().zip(path.file_name()) else { return true };
        if !self.known.contains_key(directory) {
            let found = self.list(directory);
            self.known.insert(directory.to_owned(), found);
        }
        self.known[directory].as_ref().is_none_or(|names| names.contains(&folded(name)))
    }

    fn list(&mut self, directory: &Path) -> Option<HashSet<String>> {
        if !self.may_have(directory) {
            return Some(HashSet::new());
        }
        if !mounts::answers(directory) {
            return None;
        }
        match std::fs::read_dir(directory) {
            Ok(entries) => entries.map(|entry| Some(folded(&entry.ok()?.file_name()))).collect(),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                Some(HashSet::new())
            }
            Err(_) => None,
        }
    }
}

fn folded(name: &OsStr) -> String {
    let name = name.to_string_lossy();
    // Some letters have a second small form, which only the way over the capital one makes the same.
    if name.is_ascii() { name.to_ascii_lowercase() } else { name.to_uppercase().to_lowercase() }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn only_what_cannot_be_there_is_denied() {
        let world = tempfile::tempdir().unwrap();
        let home = world.path();
        std::fs::create_dir_all(home.join(".config/gh")).unwrap();
        std::fs::write(home.join("file"), "").unwrap();
        symlink("nowhere", home.join("link")).unwrap();
        symlink(".config", home.join("other")).unwrap();
        let rows = [
            (".config", true),
            (".config/gh", true),
            (".config/GH", true),
            (".config/hub", false),
            (".config/gh/hosts.yml", false),
            (".aws/credentials", false),
            ("file", true),
            ("file/below", false),
            ("link", true),
            ("link/below", false),
            ("other/gh", true),
            ("other/hub", false),
        ];
        for (path, there) in rows {
            assert_eq!(Names::default().may_have(&home.join(path)), there, "{path}");
        }
        assert!(Names::default().may_have(Path::new("/")));
    }

    /// Kelvin's sign and the long s are other forms of `k` and `s` where capital letters do not count.
    #[test]
    fn other_forms_of_a_letter_count() {
        let world = tempfile::tempdir().unwrap();
        for (there, asked) in [(".\u{212a}ube", ".kube"), (".\u{17f}\u{17f}h", ".ssh"), (".SSH2", ".ssh2")] {
            std::fs::create_dir(world.path().join(there)).unwrap();
            assert!(Names::default().may_have(&world.path().join(asked)), "{asked}");
        }
    }

    #[test]
    fn a_directory_that_cannot_be_listed_may_have_everything() {
        let world = tempfile::tempdir().unwrap();
        let closed = world.path().join("closed");
        std::fs::create_dir(&closed).unwrap();
        std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o111)).unwrap();
        let listed = rustix::process::geteuid().is_root();
        assert_eq!(Names::default().may_have(&closed.join("x")), !listed);
    }
}
