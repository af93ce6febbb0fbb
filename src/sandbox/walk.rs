//! Looks for protected names and git repositories below a directory. Does not follow symbolic links.

use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::base::mounts;
use crate::base::protected_names::Names;

/// What a walk found.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Found {
    /// Protected names that exist.
    pub protected: Vec<PathBuf>,
    /// The directories in which git keeps repositories: `.git`, `.git/modules/…` for submodules, bare repositories.
    pub repositories: Vec<PathBuf>,
    /// Whether the walk saw the whole tree.
    pub complete: bool,
}

/// A walk through a larger tree stops here.
const MOST_ENTRIES: usize = 400_000;

pub fn walk(root: &Path, names: &Names, until: Instant) -> Found {
    let mut found = Found { complete: true, ..Found::default() };
    let mut seen = 0;
    let mut next = vec![root.to_owned()];
    while let Some(directory) = next.pop() {
        if seen > MOST_ENTRIES || Instant::now() > until {
            found.complete = false;
            break;
        }
        seen += look_into(root, &directory, names, &mut found, &mut next);
    }
    found.protected.sort();
    found.repositories.sort();
    found
}

/// Looks into a single directory. It asks for each name instead of listing the directory, which may be large: this runs after
/// every command.
pub fn look_at(directory: &Path, names: &Names) -> Found {
    let mut found = Found { complete: true, ..Found::default() };
    if !mounts::answers(directory) {
        return Found::default();
    }
    let exists = |name: &str| directory.join(name).symlink_metadata().is_ok();
    if directory.join(".git").symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
        repository(&directory.join(".git"), &mut found, 0);
    }
    if ["HEAD", "objects", "refs"].into_iter().all(exists) {
        repository(directory, &mut found, 0);
    }
    for rule in names.written().filter(|rule| !rule.contains('*')) {
        let path = directory.join(rule);
        if path.symlink_metadata().is_ok() && !found.protected.contains(&path) {
            found.protected.push(path);
        }
    }
    found
}

fn look_into(root: &Path, directory: &Path, names: &Names, found: &mut Found, next: &mut Vec<PathBuf>) -> usize {
    if !mounts::answers(directory) {
        found.complete = false;
        return 1;
    }
    let Ok(entries) = std::fs::read_dir(directory) else { return 1 };
    let (mut seen, mut parts) = (1, 0);
    for entry in entries.flatten() {
        seen += 1;
        let (name, path) = (entry.file_name(), entry.path());
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if ["HEAD", "objects", "refs"].iter().any(|part| name == *part) {
            parts += 1;
        }
        let relative = path.strip_prefix(root).unwrap_or(&path);
        if names.is_one(relative) {
            found.protected.push(path);
        } else if is_directory && name == ".git" {
            repository(&path, found, 0);
        } else if is_directory {
            next.push(path);
        }
    }
    if parts == 3 {
        repository(directory, found, 0);
    }
    seen
}

/// Adds a repository, and those of its submodules.
fn repository(git: &Path, found: &mut Found, depth: usize) {
    const DEEPEST: usize = 8;
    found.repositories.push(git.to_owned());
    let hooks = git.join("hooks");
    if hooks.symlink_metadata().is_ok() {
        found.protected.push(hooks);
    }
    let Ok(entries) = std::fs::read_dir(git.join("modules")) else { return };
    for entry in entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        if depth < DEEPEST {
            submodules(&entry.path(), found, depth + 1);
        }
    }
}

/// Adds the repositories at or below a directory of `modules`. The name of a submodule may contain slashes, so its repository
/// may be some levels down.
fn submodules(directory: &Path, found: &mut Found, depth: usize) {
    const DEEPEST: usize = 8;
    if directory.join("HEAD").exists() {
        return repository(directory, found, depth);
    }
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for entry in entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        if depth < DEEPEST {
            submodules(&entry.path(), found, depth + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn names_and_repositories_are_found_at_any_depth() {
        let world = tempfile::tempdir().unwrap();
        let root = world.path().canonicalize().unwrap();
        let make = |name: &str| {
            std::fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            std::fs::write(root.join(name), "").unwrap();
        };
        for name in [
            ".git/hooks/x",
            ".git/modules/a/b/HEAD",
            ".git/modules/a/b/hooks/x",
            "deep/er/.git/HEAD",
            "bare/HEAD",
            "bare/objects/x",
            "bare/refs/x",
            "bare/hooks/x",
            "deep/.claude/settings.json",
            "deep/.vscode/tasks.json",
            "deep/.vscode/mine.json",
        ] {
            make(name);
        }
        let names = Names::new(&[".git/hooks", ".claude", ".vscode/tasks.json"].map(str::to_owned));
        let found = walk(&root, &names, Instant::now() + Duration::from_secs(10));
        let paths = |names: &[&str]| names.iter().map(|name| root.join(name)).collect::<Vec<_>>();
        assert_eq!(
            found.protected,
            paths(&[".git/hooks", ".git/modules/a/b/hooks", "bare/hooks", "deep/.claude", "deep/.vscode/tasks.json"])
        );
        assert_eq!(found.repositories, paths(&[".git", ".git/modules/a/b", "bare", "deep/er/.git"]));
        assert!(found.complete);
    }
}
