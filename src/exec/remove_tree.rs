use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Removes a directory with everything in it. Commands leave directories that even their owner may not write (Go's module
/// cache is one), so these are opened first. What another user owns stays.
pub fn remove_tree(root: &Path) {
    if std::fs::remove_dir_all(root).is_ok() {
        return;
    }
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        // Not through a symbolic link: `is_dir` of an entry is about the entry itself.
        let _ = std::fs::set_permissions(&directory, std::fs::Permissions::from_mode(0o700));
        let entries = std::fs::read_dir(&directory).into_iter().flatten().flatten();
        open.extend(
            entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()),
        );
    }
    let _ = std::fs::remove_dir_all(root);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_without_permissions_go_too() {
        let world = tempfile::tempdir().unwrap();
        let root = world.path().join("root");
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        std::fs::write(root.join("a/b/c"), "").unwrap();
        for path in ["a/b", "a"] {
            std::fs::set_permissions(root.join(path), std::fs::Permissions::from_mode(0o000)).unwrap();
        }
        remove_tree(&root);
        assert!(!root.exists());
    }
}
