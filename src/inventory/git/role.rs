//! Whether a file has a part in how git finds its repository and its settings, for tools that write single files.

use std::path::Path;

use super::programs::{From, named};
use super::repository::Repository;

/// Files that tell git where to look or what to run, in a directory that git takes for a repository.
const SETTINGS: [&str; 3] = ["config", "config.worktree", "commondir"];
/// What makes git take a directory with one of these for a repository, once it has a HEAD.
const PARTS: [&str; 6] = ["config", "config.worktree", "commondir", "objects", "refs", "hooks"];

/// What to call a file that git would obey; `None` for any other file. The file need not exist.
pub fn git_role(path: &Path, home: Option<&Path>) -> Option<&'static str> {
    let (name, directory) = (path.file_name()?.to_str()?.to_lowercase(), path.parent()?);
    let is_git = |directory: &Path| directory.join("HEAD").symlink_metadata().is_ok() || is_named_git(directory);
    let has = |part: &&str| directory.join(part).symlink_metadata().is_ok();
    if name == ".git" {
        return Some(".git");
    }
    if SETTINGS.contains(&name.as_str()) && is_git(directory) || name == "head" && PARTS.iter().any(has) {
        return Some("git configuration");
    }
    let hooks = |above: &Path| above.ends_with("hooks") && above.parent().is_some_and(is_git);
    if directory.ancestors().any(hooks) {
        return Some("git hooks");
    }
    let named = named(&Repository::around(directory)?, home, From::Both);
    if named.hooks.iter().any(|hooks| path.starts_with(hooks)) || named.programs.iter().any(|program| program == path) {
        return Some("a program that git's configuration names");
    }
    named.configs.iter().any(|config| config == path).then_some("git configuration")
}

fn is_named_git(directory: &Path) -> bool {
    let named = |path: &Path| path.file_name().is_some_and(|name| name.eq_ignore_ascii_case(".git"));
    let inside = ["modules", "worktrees"];
    named(directory)
        || directory
            .ancestors()
            .any(|above| inside.iter().any(|name| above.ends_with(name)) && above.parent().is_some_and(named))
}

#[cfg(test)]
mod tests {
    use super::super::tests::Repository;
    use super::*;

    #[test]
    fn only_what_git_would_obey_is_asked_about() {
        let repository = Repository::new();
        repository.git(&["config", "core.hooksPath", ".githooks"]);
        for name in ["half/config", "bare/HEAD", "plain/x"] {
            repository.write(name, "");
        }
        for (path, asked) in [
            (".git", true),
            ("sub/.git", true),
            ("sub/.GIT", true),
            (".git/config", true),
            (".git/config.worktree", true),
            (".git/commondir", true),
            (".git/modules/a/b/config", true),
            (".git/worktrees/w/commondir", true),
            (".git/hooks/pre-commit", true),
            ("half/HEAD", true),
            ("bare/config", true),
            ("bare/commondir", true),
            ("bare/hooks/x", true),
            (".githooks/pre-commit", true),
            ("plain/HEAD", false),
            ("plain/config", false),
            ("config", false),
            ("hooks/x", false),
            (".git/info/exclude", false),
            ("f", false),
        ] {
            assert_eq!(git_role(&repository.path().join(path), None).is_some(), asked, "{path}");
        }
    }
}
