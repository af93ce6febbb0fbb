use std::path::{Path, PathBuf};

use crate::base::lexical;
use crate::files::FileError;

/// A path as the agent wrote it, and what it means: `~` is the home directory, the rest is seen from the session's cwd.
#[derive(Clone, Debug)]
pub struct RequestedPath {
    text: String,
    absolute: PathBuf,
}

impl RequestedPath {
    pub fn new(text: &str, cwd: &Path, home: Option<&Path>) -> Result<Self, FileError> {
        if text.is_empty() {
            return Err(FileError::EmptyPath);
        }
        if text.contains('\0') {
            return Err(FileError::NulInPath);
        }
        let absolute = match (Path::new(text).strip_prefix("~"), home) {
            (Ok(rest), Some(home)) => home.join(rest),
            _ => cwd.join(text),
        };
        Ok(Self { text: text.to_owned(), absolute })
    }

    /// As the agent wrote it: what errors name.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Absolute, with every `..` still in it: what it means depends on the links before it.
    pub fn absolute(&self) -> &Path {
        &self.absolute
    }

    /// Absolute and without dots: what replies name.
    pub fn shown(&self) -> PathBuf {
        lexical::normal(&self.absolute)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_seen_from_the_cwd_and_the_home() {
        let rows = [
            ("a/b", "/w/a/b", "/w/a/b"),
            ("/x", "/x", "/x"),
            ("~", "/h", "/h"),
            ("~/x", "/h/x", "/h/x"),
            ("~x", "/w/~x", "/w/~x"),
            (".", "/w/.", "/w"),
            ("a/../../b", "/w/a/../../b", "/b"),
        ];
        for (text, absolute, shown) in rows {
            let asked = RequestedPath::new(text, Path::new("/w"), Some(Path::new("/h"))).unwrap();
            assert_eq!(asked.absolute(), Path::new(absolute), "{text}");
            assert_eq!(asked.shown(), Path::new(shown), "{text}");
        }
        assert!(matches!(RequestedPath::new("", Path::new("/w"), None), Err(FileError::EmptyPath)));
    }
}
