//! Reads git's index, the list of tracked files. Only the path, the blob and one flag matter here.

use std::path::Path;

use super::files;
use super::object_id::{ObjectFormat, ObjectId};

const LARGEST: u64 = 256 << 20;

/// One tracked file.
#[derive(Debug)]
pub struct Tracked<'a> {
    /// Relative to the top of the working tree.
    pub path: &'a [u8],
    pub blob: ObjectId,
    pub executable: bool,
    /// 0, or 1 to 3 for the versions of a file with a conflict.
    pub stage: u16,
    /// A sparse checkout leaves the file out of the working tree.
    pub left_out: bool,
}

/// Calls `each` for every tracked file. An index that cannot be read counts as empty.
pub fn read(git_directory: &Path, format: ObjectFormat, mut each: impl FnMut(&Tracked<'_>)) {
    let Ok(bytes) = files::read(&git_directory.join("index"), LARGEST) else { return };
    // A split index keeps most entries in a second file.
    if let Some(id) = parse(&bytes, format, &mut each)
        && let Ok(bytes) = files::read(&git_directory.join(format!("sharedindex.{id}")), LARGEST)
    {
        parse(&bytes, format, &mut each);
    }
}

/// Returns the id of the shared index, if this is a split one.
fn parse(bytes: &[u8], format: ObjectFormat, each: &mut dyn FnMut(&Tracked<'_>)) -> Option<ObjectId> {
    let number = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?) as usize);
    let short = |at: usize| Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    if bytes.get(..4)? != b"DIRC" {
        return None;
    }
    let (version, count, length) = (number(4)?, number(8)?, format.length());
    let (mut at, mut path) = (12, Vec::new());
    for _ in 0..count {
        let start = at;
        let executable = number(at + 24)? & 0o111 != 0;
        let blob = format.id(bytes.get(at + 40..at + 40 + length)?)?;
        at += 40 + length;
        let flags = short(at)?;
        at += 2;
        let mut left_out = false;
        if version >= 3 && flags & 0x4000 != 0 {
            left_out = short(at)? & 0x4000 != 0;
            at += 2;
        }
        if version == 4 {
            let (removed, next) = variable(bytes, at)?;
            at = next;
            path.truncate(path.len().checked_sub(removed)?);
        } else {
            path.clear();
        }
        let end = at + memchr::memchr(0, bytes.get(at..)?)?;
        path.extend_from_slice(&bytes[at..end]);
        at = if version == 4 { end + 1 } else { start + ((end - start) / 8 + 1) * 8 };
        // A split index changes an entry of the shared one by its number, without a path. The entry that it changes will do.
        if !path.is_empty() {
            each(&Tracked { path: &path, blob, executable, stage: flags >> 12 & 3, left_out });
        }
    }
    // Extensions follow, and a checksum at the end.
    while at + 8 + length <= bytes.len() {
        let size = number(at + 4)?;
        if bytes.get(at..at + 4)? == b"link" {
            return format.id(bytes.get(at + 8..at + 8 + length)?);
        }
        at = at.checked_add(8)?.checked_add(size)?;
    }
    None
}

/// The number that git uses for prefixes in version 4.
fn variable(bytes: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let mut byte = *bytes.get(at)?;
    let mut value = usize::from(byte & 127);
    while byte & 128 != 0 {
        at += 1;
        byte = *bytes.get(at)?;
        value = value.checked_add(1)?.checked_mul(128)?.checked_add(usize::from(byte & 127))?;
    }
    Some((value, at + 1))
}

#[cfg(test)]
mod tests {
    use super::super::tests::Repository;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_version_of_the_index_is_read() {
        for settings in [&["index.version=2"][..], &["index.version=4"], &["index.version=4", "core.splitIndex=true"]] {
            let repository = Repository::new();
            for setting in settings {
                let (key, value) = setting.split_once('=').unwrap();
                repository.git(&["config", key, value]);
            }
            for name in ["a", ".vscode/settings.json", "deep/er/.envrc", "deep/er/x"] {
                repository.write(name, name);
            }
            repository.git(&["add", "-A"]);
            repository.git(&["commit", "-qm", "one"]);
            repository.git(&["update-index", "--skip-worktree", "a"]);
            let mut found = Vec::new();
            read(&repository.path().join(".git"), ObjectFormat::Sha1, |tracked| {
                let blob = ObjectFormat::Sha1.of("blob", tracked.path);
                assert_eq!(tracked.blob, blob, "each file holds its own path");
                found.push((String::from_utf8(tracked.path.to_vec()).unwrap(), tracked.left_out));
            });
            let split = settings.len() == 2;
            for (path, left_out) in [(".vscode/settings.json", false), ("deep/er/.envrc", false), ("a", !split)] {
                assert!(found.contains(&(path.to_owned(), left_out)), "{settings:?}: {found:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn rubbish_is_no_index(mut bytes: Vec<u8>, version in 2u8..5) {
            bytes.splice(..0, *b"DIRC\0\0\0\x02\0\0\0\x09");
            bytes[7] = version;
            parse(&bytes, ObjectFormat::Sha1, &mut |_| {});
        }
    }
}
