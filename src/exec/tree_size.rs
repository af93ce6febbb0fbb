use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What a directory with everything below it takes on disk.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct TreeSize {
    pub files: u64,
    pub bytes: u64,
}

impl TreeSize {
    /// Everything at and below a path. Links are not followed, and a file with two names counts once.
    pub fn of(root: &Path) -> Self {
        const BLOCK: u64 = 512;
        let (mut open, mut linked, mut size) = (vec![root.to_owned()], HashSet::new(), Self::default());
        while let Some(path) = open.pop() {
            let Ok(found) = path.symlink_metadata() else { continue };
            if found.is_dir() {
                open.extend(std::fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()));
            } else if found.nlink() > 1 && !linked.insert(found.ino()) {
                continue;
            }
            size.files += 1;
            size.bytes += found.blocks() * BLOCK;
        }
        size
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_two_names_counts_once_and_a_link_not_at_all() {
        let world = tempfile::tempdir().unwrap();
        let root = world.path();
        std::fs::create_dir(root.join("d")).unwrap();
        std::fs::write(root.join("d/a"), vec![1; 1 << 20]).unwrap();
        let before = TreeSize::of(root);
        assert!(before.bytes >= 1 << 20 && before.files == 3, "{before:?}");
        std::fs::hard_link(root.join("d/a"), root.join("b")).unwrap();
        std::os::unix::fs::symlink("/usr", root.join("c")).unwrap();
        assert!(TreeSize::of(root).bytes < before.bytes + 64 * 1024);
    }
}
