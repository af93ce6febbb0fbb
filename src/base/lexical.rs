//! Paths as text, without asking the file system.

use std::path::{Component, Path, PathBuf};

/// Removes `.` and `..` by name alone, as a shell does for its own directory. Links are not looked at.
pub fn normal(path: &Path) -> PathBuf {
    let mut result = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(result.pop()),
            Component::CurDir => {}
            component => result.push(component),
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_are_removed_by_name() {
        for (path, expected) in [("/a/./b/../c", "/a/c"), ("/..", "/"), ("a/../..", ""), ("/a//b/", "/a/b")] {
            assert_eq!(normal(Path::new(path)), Path::new(expected), "{path}");
        }
    }
}
