//! The directory that a caller names for a command to run in. Commands are bounded by the sandbox, not by the scope.

use std::path::{Path, PathBuf};

/// Why a directory cannot be used.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum DirectoryError {
    #[error("does not exist")]
    Missing,
    #[error("is not a directory")]
    NotADirectory,
    #[error("leaves the project directory")]
    Outside,
    #[error("must be relative to the project directory")]
    Absolute,
}

/// The path of an existing directory, with links resolved.
pub fn real_directory(path: &Path) -> Result<PathBuf, DirectoryError> {
    let real = path.canonicalize().map_err(|_| DirectoryError::Missing)?;
    if real.is_dir() { Ok(real) } else { Err(DirectoryError::NotADirectory) }
}

/// A directory below `base`, by a relative path. A path that leaves `base` by `..` or by a link is refused.
pub fn directory_below(base: &Path, relative: &str) -> Result<PathBuf, DirectoryError> {
    if Path::new(relative).is_absolute() {
        return Err(DirectoryError::Absolute);
    }
    let (base, real) = (real_directory(base)?, real_directory(&base.join(relative))?);
    if real.starts_with(&base) { Ok(real) } else { Err(DirectoryError::Outside) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_directory_below_the_base_is_accepted() {
        let world = tempfile::tempdir().unwrap();
        let base = world.path().join("project");
        std::fs::create_dir_all(base.join("sub")).unwrap();
        std::fs::write(base.join("file"), "").unwrap();
        std::os::unix::fs::symlink(world.path(), base.join("out")).unwrap();
        let rows = [
            ("sub", None),
            (".", None),
            ("sub/..", None),
            ("..", Some(DirectoryError::Outside)),
            ("out", Some(DirectoryError::Outside)),
            ("missing", Some(DirectoryError::Missing)),
            ("file", Some(DirectoryError::NotADirectory)),
            ("/", Some(DirectoryError::Absolute)),
        ];
        for (relative, error) in rows {
            assert_eq!(directory_below(&base, relative).err(), error, "{relative}");
        }
    }
}
