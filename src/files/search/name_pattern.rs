use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

use crate::files::FileError;

/// A glob that is matched against paths relative to a base directory.
pub struct NamePattern {
    matcher: GlobMatcher,
    /// A pattern without a slash is matched against the last name of a path.
    names_only: bool,
    /// The literal directories that the pattern begins with. Nothing outside them can match.
    prefix: PathBuf,
}

impl NamePattern {
    pub fn parse(written: &str, base: &Path) -> Result<Self, FileError> {
        let bad = |message: String| FileError::BadSearch {
            message,
            hint: "A pattern is a glob such as *.rs, src/**/*.{ts,tsx} or **/test_*.".to_owned(),
        };
        let below = Path::new(written).strip_prefix(base).ok().and_then(Path::to_str).unwrap_or(written);
        let trimmed = below.trim_start_matches("./").trim_end_matches('/');
        if trimmed.is_empty() {
            return Err(bad("pattern must not be empty".to_owned()));
        }
        let glob = GlobBuilder::new(trimmed).literal_separator(true).build();
        let matcher =
            glob.map_err(|error| bad(format!("invalid pattern {written:?}: {}", error.kind())))?.compile_matcher();
        let parts: Vec<&str> = trimmed.split('/').collect();
        let literal = |part: &&&str| !part.contains(['*', '?', '[', ']', '{', '}', '\\', ',']) && **part != "..";
        // A slash inside braces would cut the group in two.
        let has_braces = trimmed.contains('{');
        let prefix =
            if has_braces { PathBuf::new() } else { parts[..parts.len() - 1].iter().take_while(literal).collect() };
        Ok(Self { matcher, names_only: parts.len() == 1, prefix })
    }

    pub fn prefix(&self) -> &Path {
        &self.prefix
    }

    pub fn matches(&self, relative: &Path) -> bool {
        if self.names_only {
            relative.file_name().is_some_and(|name| self.matcher.is_match(name))
        } else {
            self.matcher.is_match(relative)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_with_a_slash_is_matched_against_the_path() {
        let rows = [
            ("*.rs", "a/b.rs", true),
            ("*.rs", "a/b.rst", false),
            ("src/*.rs", "src/a.rs", true),
            ("src/*.rs", "src/b/a.rs", false),
            ("src/**/*.rs", "src/b/a.rs", true),
            ("src/**/*.rs", "src/a.rs", true),
            ("**/a.rs", "a.rs", true),
            ("/w/src/*.rs", "src/a.rs", true),
            ("./src/*.rs", "src/a.rs", true),
            ("*.{ts,tsx}", "x/y.tsx", true),
            ("target/", "a/target", true),
        ];
        for (pattern, path, want) in rows {
            assert_eq!(
                NamePattern::parse(pattern, Path::new("/w")).unwrap().matches(Path::new(path)),
                want,
                "{pattern} {path}"
            );
        }
    }

    #[test]
    fn the_literal_beginning_of_a_pattern_is_its_prefix() {
        let rows = [("src/a/*.rs", "src/a"), ("*.rs", ""), ("src/**/x", "src"), ("{a,b}/c/d", ""), ("a/b", "a")];
        for (pattern, want) in rows {
            assert_eq!(NamePattern::parse(pattern, Path::new("/w")).unwrap().prefix, Path::new(want), "{pattern}");
        }
    }
}
