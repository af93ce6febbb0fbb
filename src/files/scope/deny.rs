use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::Secrets;

/// What is out of bounds, together with everything below it: the globs of `--deny-dir`, and secrets that lie in the
/// scope.
#[derive(Clone, Debug, Default)]
pub struct DenyGlobs {
    patterns: Vec<Pattern>,
    set: GlobSet,
    secrets: Secrets,
}

#[derive(Clone, Debug)]
struct Pattern {
    written: String,
    /// An absolute pattern may match a directory above the scope. Any other pattern applies inside the scope only.
    absolute: bool,
}

impl DenyGlobs {
    /// A pattern without a leading `/`, `~` or `**/` applies at any depth, as in an ignore file.
    pub fn new(written: &[String], home: Option<&Path>) -> Result<Self, String> {
        let mut set = GlobSetBuilder::new();
        let mut patterns = Vec::new();
        for text in written {
            let trimmed = if text.len() > 1 { text.trim_end_matches('/') } else { text };
            let expanded = match (trimmed.strip_prefix('~'), home) {
                (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
                    format!("{}{rest}", globset::escape(&home.to_string_lossy()))
                }
                _ => trimmed.to_owned(),
            };
            let absolute = expanded.starts_with('/');
            let anywhere = if absolute || expanded.starts_with("**/") { expanded } else { format!("**/{expanded}") };
            for glob in [Some(anywhere.clone()), real_form(&anywhere)].into_iter().flatten() {
                let glob = GlobBuilder::new(&glob).literal_separator(true).backslash_escape(true).build();
                set.add(glob.map_err(|error| format!("{text:?}: {}", error.kind()))?);
                patterns.push(Pattern { written: text.clone(), absolute });
            }
        }
        let set = set.build().map_err(|error| error.to_string())?;
        Ok(Self { patterns, set, secrets: Secrets::default() })
    }

    /// Adds the secrets, which commands may not read either.
    #[must_use]
    pub fn and_secrets(self, secrets: Secrets) -> Self {
        Self { secrets, ..self }
    }

    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty() && self.secrets.is_empty()
    }

    /// What can deny something in these directories. A walk asks about every name, so it asks about little.
    #[must_use]
    pub fn near(&self, directories: &[&Path]) -> Self {
        self.clone().and_secrets(self.secrets.near(directories))
    }

    /// Whether any name can be denied.
    pub fn have_names(&self) -> bool {
        !self.patterns.is_empty() || self.secrets.have_paths()
    }

    /// The pattern that denies this path or a directory above it. `root` is the root of the scope that the path lies in.
    pub fn pattern_for(&self, root: &Path, path: &Path) -> Option<&str> {
        if self.is_empty() {
            return None;
        }
        if let Some(secret) = self.secrets.hiding(root, path) {
            return secret.to_str().or(Some("secrets"));
        }
        path.ancestors().find_map(|part| {
            let inside = part.starts_with(root);
            let hits = self.set.matches(part);
            hits.into_iter()
                .map(|index| &self.patterns[index])
                .find(|pattern| inside || pattern.absolute)
                .map(|pattern| pattern.written.as_str())
        })
    }

    /// Whether this path itself is denied. The caller must have checked the directories above it, as a walk does.
    pub fn denies_name(&self, path: &Path) -> bool {
        self.have_names() && (self.set.is_match(path) || self.secrets.hiding(Path::new("/"), path).is_some())
    }

    pub fn secrets(&self) -> &Secrets {
        &self.secrets
    }
}

/// The same pattern with the links in its literal beginning resolved, if there are any.
fn real_form(pattern: &str) -> Option<String> {
    let literal = pattern.strip_prefix('/')?.split('/').take_while(|part| !part.contains(['*', '?', '[', '{', '\\']));
    let mut beginning = literal.fold(PathBuf::from("/"), |path, part| path.join(part));
    loop {
        if let Ok(real) = beginning.canonicalize() {
            let rest = pattern.strip_prefix(beginning.to_str()?)?;
            let form = format!("{}{rest}", globset::escape(real.to_str()?));
            return (real != beginning).then_some(form);
        }
        beginning.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_denies_what_it_matches_and_everything_below() {
        let rows = [
            ("**/.env", "/w/.env", true),
            ("**/.env", "/w/a/b/.env", true),
            ("**/.env", "/w/.env.local", false),
            (".env", "/w/a/.env", true),
            ("secrets", "/w/secrets/key", true),
            ("secrets/", "/w/a/secrets/b/c", true),
            ("/w/private", "/w/private/x", true),
            ("/w/private", "/w/privateer", false),
            ("/w/*", "/w/a", true),
            ("~/.ssh", "/h/.ssh/id", true),
            ("*.pem", "/w/x/y.pem", true),
            // Above the scope only an absolute pattern applies.
            ("w", "/w/a", true),
            ("top", "/top/w/a", false),
            ("/top", "/top/w/a", true),
        ];
        for (pattern, path, denied) in rows {
            let globs = DenyGlobs::new(&[pattern.to_owned()], Some(Path::new("/h"))).unwrap();
            let root = if path.starts_with("/top") { "/top/w" } else { "/w" };
            let root = if path.starts_with("/h") { "/h" } else { root };
            let found = globs.pattern_for(Path::new(root), Path::new(path));
            assert_eq!(found, denied.then_some(pattern), "{pattern} and {path}");
        }
    }

    #[test]
    fn a_pattern_over_a_link_also_denies_the_links_target() {
        let world = tempfile::tempdir().unwrap();
        let base = world.path().canonicalize().unwrap();
        std::fs::create_dir_all(base.join("real/secret")).unwrap();
        std::os::unix::fs::symlink("real", base.join("link")).unwrap();
        let globs = DenyGlobs::new(&[format!("{}/link/sec*", base.display())], None).unwrap();
        for path in ["link/secret/key", "real/secret/key"] {
            assert!(globs.pattern_for(&base, &base.join(path)).is_some(), "{path}");
        }
        assert_eq!(globs.pattern_for(&base, &base.join("real/other")), None);
    }

    #[test]
    fn a_broken_pattern_is_named() {
        assert!(DenyGlobs::new(&["a[".to_owned()], None).unwrap_err().contains("a["));
    }
}
