//! Names that commands may not write, because what stands there is run or believed outside the sandbox later.

use crate::base::invisible::is_invisible;
use crate::base::wildcard;
use std::path::{Path, PathBuf};

/// `sandbox.protect`, ready to be compared with paths.
#[derive(Clone, Debug, Default)]
pub struct Names {
    patterns: Vec<Pattern>,
}

#[derive(Clone, Debug)]
struct Pattern {
    written: String,
    names: Vec<String>,
}

/// What git believes about a repository. Commands write it in ordinary work and are looked after by the sentry.
pub fn git_configuration() -> Names {
    Names::new(&[".git/config", ".git/config.worktree", ".git/commondir", ".git/modules/*/config"].map(str::to_owned))
}

impl Names {
    pub fn new(written: &[String]) -> Self {
        let pattern = |written: &String| Pattern {
            written: written.clone(),
            names: written.split('/').filter(|name| !name.is_empty()).map(plain).collect(),
        };
        Self { patterns: written.iter().map(pattern).filter(|pattern| !pattern.names.is_empty()).collect() }
    }

    /// The rule that a path falls under: it is a protected name, or lies below one. The path is relative to the directory
    /// in scope, whose own name protects nothing.
    pub fn protecting(&self, relative: &Path) -> Option<&str> {
        let names = plain_names(relative);
        let found = self
            .patterns
            .iter()
            .find(|pattern| names.windows(pattern.names.len()).any(|window| pattern.matches(window)));
        found.map(|pattern| pattern.written.as_str())
    }

    /// Whether a path is itself a protected name.
    pub fn is_one(&self, relative: &Path) -> bool {
        let names = plain_names(relative);
        let ends = |pattern: &Pattern| {
            names.len() >= pattern.names.len() && pattern.matches(&names[names.len() - pattern.names.len()..])
        };
        self.patterns.iter().any(ends)
    }

    /// The protected name itself that a path is or lies below.
    pub fn standing(&self, relative: &Path) -> Option<PathBuf> {
        let mut shorter: Vec<&Path> = relative.ancestors().collect();
        shorter.reverse();
        shorter.into_iter().find(|path| self.is_one(path)).map(Path::to_owned)
    }

    /// What to look for in one directory: the paths of the rules, with `*` only where a directory has to be listed.
    pub fn written(&self) -> impl Iterator<Item = &str> {
        self.patterns.iter().map(|pattern| pattern.written.as_str())
    }
}

impl Pattern {
    fn matches(&self, names: &[String]) -> bool {
        self.names.iter().zip(names).all(|(pattern, name)| wildcard::matches(pattern, name))
    }
}

fn plain_names(path: &Path) -> Vec<String> {
    path.components().map(|name| plain(name.as_os_str().to_string_lossy())).collect()
}

/// Without what some file systems ignore: case, and code points that have no shape.
fn plain(name: impl AsRef<str>) -> String {
    name.as_ref().chars().filter(|c| !is_invisible(*c)).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        Names::new(&[".git/hooks", ".git/modules/*/hooks", ".claude", ".vscode/tasks.json"].map(str::to_owned))
    }

    #[test]
    fn protected_at_any_depth_and_everything_below() {
        for (path, rule) in [
            (".git/hooks", Some(".git/hooks")),
            ("sub/.git/hooks/pre-commit", Some(".git/hooks")),
            (".git/modules/lib/hooks/x", Some(".git/modules/*/hooks")),
            ("a/.claude/settings.json", Some(".claude")),
            (".cLauDe", Some(".claude")),
            (".g\u{200b}it/hooks/x", Some(".git/hooks")),
            (".vscode/tasks.json", Some(".vscode/tasks.json")),
            (".vscode/other.json", None),
            (".git/config", None),
            ("hooks", None),
            ("claude", None),
        ] {
            assert_eq!(names().protecting(Path::new(path)), rule, "{path}");
        }
    }

    #[test]
    fn a_name_is_one_itself_or_only_below_one() {
        assert!(names().is_one(Path::new("x/.claude")));
        assert!(!names().is_one(Path::new("x/.claude/y")));
        assert!(!names().is_one(Path::new("x/.git")));
        assert_eq!(names().standing(Path::new("x/.claude/y/z")), Some("x/.claude".into()));
        assert_eq!(names().standing(Path::new("x/.git/y")), None);
    }
}
