//! The commits that a repository's references name: branches, tags, stashes, the reflog of HEAD, merges under way.

use std::path::{Path, PathBuf};

use super::files;
use super::object_id::{ObjectFormat, ObjectId};

const LARGEST: u64 = 64 << 20;
const MOST: usize = 500_000;

/// Which references count.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Which {
    All,
    /// What was fetched from elsewhere.
    Remotes,
}

/// The ids of all objects that the references name, each once. `common` is the git directory without worktrees.
pub fn tips(common: &Path, format: ObjectFormat, which: Which) -> Vec<ObjectId> {
    let mut ids = Vec::new();
    if let Ok(packed) = files::read(&common.join("packed-refs"), LARGEST) {
        for line in packed.split(|byte| *byte == b'\n') {
            let remote = memchr::memmem::find(line, b" refs/remotes/").is_some();
            if which == Which::All || remote {
                // A line of a tag is followed by `^` and the commit that the tag names.
                ids.extend(format.hex(line.strip_prefix(b"^").unwrap_or(line)));
            }
        }
    }
    let mut found = Vec::new();
    match which {
        Which::All => {
            files_below(&common.join("refs"), &mut found);
            found.extend(["logs/HEAD", "logs/refs/stash"].map(|name| common.join(name)));
            heads(common, &mut found);
            for (worktree, _) in files::list(&common.join("worktrees")) {
                heads(&worktree, &mut found);
                found.push(worktree.join("logs/HEAD"));
            }
        }
        Which::Remotes => files_below(&common.join("refs/remotes"), &mut found),
    }
    for path in found {
        // A reference is one id; a line of a reflog begins with the id before and the id after.
        let Ok(bytes) = files::read(&path, LARGEST) else { continue };
        for line in bytes.split(|byte| *byte == b'\n') {
            ids.extend(line.splitn(3, |byte| *byte == b' ').take(2).filter_map(|word| format.hex(word)));
        }
    }
    ids.sort_unstable();
    ids.dedup();
    ids.truncate(MOST);
    ids
}

/// `HEAD`, `ORIG_HEAD`, `MERGE_HEAD` and the like.
fn heads(directory: &Path, found: &mut Vec<PathBuf>) {
    found.extend(files::list(directory).map(|(path, _)| path).filter(|path| path.to_string_lossy().ends_with("HEAD")));
}

fn files_below(directory: &Path, found: &mut Vec<PathBuf>) {
    let mut next = vec![directory.to_owned()];
    while let Some(directory) = next.pop() {
        for (path, kind) in files::list(&directory) {
            if kind.is_dir() {
                next.push(path);
            } else if kind.is_file() && found.len() < MOST {
                found.push(path);
            }
        }
    }
}
