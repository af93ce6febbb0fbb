use std::path::{Path, PathBuf};

use crate::base::lexical;
use crate::files::FileError;

/// A path as the agent wrote it, and what it means: `~` is the home directory, and a relative path starts at the session's
/// cwd.
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

    /// The path as the agent wrote it. Errors name this one.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Absolute, with every `..` still in it: where a `..` leads depends on the links before it.
    pub fn absolute(&self) -> &Path {
        &self.absolute
    }

    /// Absolute, with `.` and `..` removed by name. Replies name this one.
    pub fn without_dots(&self) -> PathBuf {
        lexical::normal(&self.absolute)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_start_at_the_cwd_or_the_home() {
        let rows = [
            ("a/b", "/w/a/b", "/w/a/b"),
            ("/x", "/x", "/x"),
            ("~", "/h", "/h"),
            ("~/x", "/h/x", "/h/x"),
            ("~x", "/w/~x", "/w/~x"),
            (".", "/w/.", "/w"),
            ("a/../../b", "/w/a/../../b", "/b"),
        ];
        for (text, absolute, without_dots) in rows {
            let requested = RequestedPath::new(text, Path::new("/w"), Some(Path::new("/h"))).unwrap();
            assert_eq!(requested.absolute(), Path::new(absolute), "{text}");
            assert_eq!(requested.without_dots(), Path::new(without_dots), "{text}");
        }
        assert!(matches!(RequestedPath::new("", Path::new("/w"), None), Err(FileError::EmptyPath)));
    }
}
