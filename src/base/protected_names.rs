//! Names that commands must not write, because other programs later run or trust what is stored there, outside the
//! sandbox.
//!
//! The names come from `sandbox.protect`. The sandbox, the file tools and the policy all match paths with this type, so
//! they cannot disagree about which paths are protected.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::Path;

use super::invisible::is_invisible;
use super::wildcard;

/// Relative paths such as `.claude` or `.git/modules/*/hooks`, ready to be compared with the paths of a project.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Names {
    patterns: Vec<Pattern>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
struct Pattern {
    written: String,
    names: Vec<String>,
}

impl Names {
    pub fn new(written: &[String]) -> Self {
        let pattern = |written: &String| Pattern {
            written: written.clone(),
            names: written.split('/').filter(|name| !name.is_empty()).map(|name| folded(name).into_owned()).collect(),
        };
        Self { patterns: written.iter().map(pattern).filter(|pattern| !pattern.names.is_empty()).collect() }
    }

    /// The pattern that protects a path: the path has a protected name, or lies below one. The path is relative to a
    /// directory in scope; the name of that directory itself is not compared.
    pub fn protecting(&self, relative: &Path) -> Option<&str> {
        // Most paths have no name that a pattern begins with, and an index of git has many paths.
        let begins =
            |name: Cow<'_, str>| self.patterns.iter().any(|pattern| wildcard::matches(&pattern.names[0], &name));
        if !relative.iter().any(|name| begins(folded(&name.to_string_lossy()))) {
            return None;
        }
        let names = folded_names(relative);
        let found = self
            .patterns
            .iter()
            .find(|pattern| names.windows(pattern.names.len()).any(|window| pattern.matches(window)));
        found.map(|pattern| pattern.written.as_str())
    }

    /// The pattern that protects a name inside this directory: `.vscode` contains `.vscode/tasks.json`.
    pub fn protecting_inside(&self, relative: &Path) -> Option<&str> {
        let names = folded_names(relative);
        let contains = |pattern: &&Pattern| {
            (1..pattern.names.len())
                .any(|length| names.len() >= length && pattern.matches(&names[names.len() - length..]))
        };
        self.patterns.iter().find(contains).map(|pattern| pattern.written.as_str())
    }

    /// Whether a path itself has a protected name, rather than lying below one.
    pub fn is_one(&self, relative: &Path) -> bool {
        // A walk asks for every file, so the last name is compared first.
        let Some(last) = relative.file_name().map(OsStr::to_string_lossy) else { return false };
        let last = folded(&last);
        let ends = |pattern: &Pattern| pattern.names.last().is_some_and(|name| wildcard::matches(name, &last));
        if !self.patterns.iter().any(ends) {
            return false;
        }
        let names = folded_names(relative);
        let ends = |pattern: &Pattern| {
            names.len() >= pattern.names.len() && pattern.matches(&names[names.len() - pattern.names.len()..])
        };
        self.patterns.iter().any(ends)
    }
}

impl Pattern {
    /// Compares name by name, as far as both sides go.
    fn matches(&self, names: &[String]) -> bool {
        self.names.iter().zip(names).all(|(pattern, name)| wildcard::matches(pattern, name))
    }
}

fn folded_names(path: &Path) -> Vec<String> {
    path.iter().map(|name| folded(&name.to_string_lossy()).into_owned()).collect()
}

/// Some file systems ignore letter case and invisible characters in names, so both are removed before names are
/// compared.
pub fn folded(name: &str) -> Cow<'_, str> {
    if name.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        return Cow::Borrowed(name);
    }
    Cow::Owned(name.chars().filter(|c| !is_invisible(*c)).flat_map(char::to_lowercase).collect())
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
    }

    #[test]
    fn a_directory_that_contains_a_protected_name_is_recognised() {
        for (path, rule) in [
            (".vscode", Some(".vscode/tasks.json")),
            ("sub/.VSCode", Some(".vscode/tasks.json")),
            (".git/modules/lib", Some(".git/modules/*/hooks")),
            (".vscode/tasks.json", None),
            (".claude", None),
            ("sub", None),
            ("", None),
        ] {
            assert_eq!(names().protecting_inside(Path::new(path)), rule, "{path}");
        }
    }
}
