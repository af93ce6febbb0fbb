//! Remembers the content of a protected name, to put it back where no mount keeps commands from writing it.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::beneath::{Place, make_parents};

/// Every file at or below a path, as it was when the snapshot was taken.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    files: BTreeMap<PathBuf, Kept>,
}

#[derive(Clone, Debug)]
struct Kept {
    content: Content,
    stamp: Stamp,
}

#[derive(Clone, Debug)]
enum Content {
    File {
        bytes: Vec<u8>,
        mode: u32,
    },
    Link(PathBuf),
    /// Too large to remember, unreadable, or not a regular file.
    Unknown,
}

/// Inode, time of the last change and size of a file. It tells whether a file was written: a program can set the
/// modification time, but not the time of the last change.
pub type Stamp = (u64, i64, i64, u64);

/// Configuration is smaller than this. The rest is not remembered.
const MOST_FILES: usize = 2_000;
const LARGEST_FILE: u64 = 256 << 10;

impl Snapshot {
    pub fn of(path: &Path) -> Self {
        let keep = |path: PathBuf| {
            let metadata = path.symlink_metadata().ok()?;
            let small = metadata.is_file() && metadata.len() <= LARGEST_FILE;
            let file = |bytes| Content::File { bytes, mode: metadata.mode() };
            let content = match std::fs::read_link(&path) {
                Ok(target) => Content::Link(target),
                Err(_) if small => std::fs::read(&path).map_or(Content::Unknown, file),
                Err(_) => Content::Unknown,
            };
            Some((path, Kept { content, stamp: stamp(&metadata) }))
        };
        Self { files: files(path).into_iter().filter_map(keep).collect() }
    }

    /// Puts back the files that were changed or removed, and moves aside the files that were added. Returns a note for each.
    pub fn restore(&self, root: &Path, path: &Path) -> Vec<String> {
        let mut notes = Vec::new();
        let shown = |path: &Path| path.strip_prefix(root).unwrap_or(path).display().to_string();
        for (file, kept) in &self.files {
            let untouched = file.symlink_metadata().is_ok_and(|metadata| stamp(&metadata) == kept.stamp);
            if untouched || kept.content.is_at(root, file) {
                continue;
            }
            notes.push(match kept.content.put_back(root, file) {
                Ok(()) => format!("{} was put back: a command may not write it (sandbox.protect)", shown(file)),
                Err(error) => format!("{} was changed by a command and could not be put back: {error}", shown(file)),
            });
        }
        for file in files(path).into_iter().filter(|file| !self.files.contains_key(file)) {
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name.contains(".untrusted") || name.ends_with(".sample") {
                continue;
            }
            if let Ok(aside) = Place::find(root, &file).and_then(|place| place.move_aside()) {
                let (file, aside) = (shown(&file), aside.display());
                notes.push(format!("{file} was moved to {aside}: a command may not create it (sandbox.protect)"));
            }
        }
        notes
    }
}

impl Content {
    fn is_at(&self, root: &Path, file: &Path) -> bool {
        match self {
            Self::File { bytes, .. } => {
                Place::find(root, file).and_then(|place| place.read()).is_ok_and(|now| now == *bytes)
            }
            Self::Link(target) => std::fs::read_link(file).is_ok_and(|now| now == *target),
            Self::Unknown => true,
        }
    }

    fn put_back(&self, root: &Path, file: &Path) -> std::io::Result<()> {
        make_parents(root, file)?;
        let place = Place::find(root, file)?;
        match self {
            Self::File { bytes, mode } => place.replace(bytes, *mode),
            Self::Link(target) => place.replace_by_link(target),
            Self::Unknown => Ok(()),
        }
    }
}

pub fn stamp(metadata: &std::fs::Metadata) -> Stamp {
    (metadata.ino(), metadata.ctime(), metadata.ctime_nsec(), metadata.len())
}

/// Everything at or below a path that is not a directory. Does not follow symbolic links.
fn files(path: &Path) -> Vec<PathBuf> {
    let (mut found, mut next) = (Vec::new(), vec![path.to_owned()]);
    while let Some(path) = next.pop() {
        match path.symlink_metadata() {
            Ok(metadata) if metadata.is_dir() => {
                next.extend(std::fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()));
            }
            Ok(_) if found.len() < MOST_FILES => found.push(path),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_changed_removed_or_added_is_undone_and_told() {
        let world = tempfile::tempdir().unwrap();
        let root = world.path().canonicalize().unwrap();
        let path = root.join(".claude");
        std::fs::create_dir(&path).unwrap();
        std::fs::write(path.join("a"), "a").unwrap();
        std::fs::write(path.join("b"), "b").unwrap();
        std::os::unix::fs::symlink("a", path.join("link")).unwrap();
        let before = Snapshot::of(&path);
        assert_eq!(before.restore(&root, &path), Vec::<String>::new());
        std::fs::write(path.join("a"), "evil").unwrap();
        std::fs::remove_file(path.join("b")).unwrap();
        std::fs::remove_file(path.join("link")).unwrap();
        std::fs::write(path.join("link"), "evil").unwrap();
        std::fs::write(path.join("new"), "evil").unwrap();
        let notes = before.restore(&root, &path);
        assert!(notes.iter().any(|note| note.starts_with(".claude/new was moved to new.untrusted")), "{notes:?}");
        assert_eq!(std::fs::read_to_string(path.join("a")).unwrap(), "a");
        assert_eq!(std::fs::read_to_string(path.join("b")).unwrap(), "b");
        assert_eq!(std::fs::read_link(path.join("link")).unwrap(), Path::new("a"));
        assert!(path.join("new.untrusted").exists());
        std::fs::remove_dir_all(&path).unwrap();
        before.restore(&root, &path);
        assert_eq!(std::fs::read_to_string(path.join("a")).unwrap(), "a");
    }
}
