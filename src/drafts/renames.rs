//! Pairs what was deleted with what was added and has the same content. An overlay keeps no record of renames.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use super::Change;
use super::changes::Sides;
use super::compare::same_content;
use super::facts::{Facts, open_file};
use super::parents::parent_of;
use super::walk::{self, Side};

/// Larger trees are not compared; they are shown as deleted and added.
const MOST_FILES: usize = 20_000;
/// So much is read at most, for all changes together.
const MOST_BYTES: u64 = 256 << 20;

/// What two sides of a rename have in common.
#[derive(Clone, Copy, Eq, Hash, PartialEq)]
enum Sign {
    File {
        size: u64,
        beginning: u64,
    },
    /// Of the names and sizes of all that is in it.
    Directory(u64),
}

pub fn find(changes: &mut [Change], sides: &Sides) -> io::Result<()> {
    let is_added = |change: &Change| change.original.is_none() && change.draft.is_some();
    let deleted: Vec<usize> = (0..changes.len()).filter(|index| changes[*index].draft.is_none()).collect();
    // Nothing is opened unless its kind and size were seen on the other side.
    let wanted: HashSet<(bool, u64)> = deleted.iter().filter_map(|index| kind(changes[*index].original)).collect();
    let mut candidates: HashMap<Sign, Vec<usize>> = HashMap::new();
    for (index, change) in changes.iter().enumerate().filter(|(_, change)| is_added(change)) {
        if kind(change.draft).is_some_and(|kind| wanted.contains(&kind))
            && let Some(sign) = sign(&sides.upper, &change.path, change.draft)?
        {
            candidates.entry(sign).or_default().push(index);
        }
    }
    if candidates.is_empty() {
        return Ok(());
    }
    let mut budget = MOST_BYTES;
    for gone in deleted {
        let Some(sign) = sign(&sides.lower, &changes[gone].path, changes[gone].original)? else { continue };
        let Some(possible) = candidates.get_mut(&sign) else { continue };
        // The same name first: a move is more likely than a copy under another name.
        let name = changes[gone].path.file_name();
        let position = possible.iter().position(|index| changes[*index].path.file_name() == name).unwrap_or(0);
        let Some(index) = possible.get(position).copied() else { continue };
        if same(sides, &changes[index].path, &changes[gone].path, &mut budget)? {
            possible.swap_remove(position);
            changes[index].renamed_from = Some(changes[gone].path.clone());
            changes[gone].renamed_away = true;
        }
    }
    Ok(())
}

/// Whether it is a directory, and the size of a file. `None` for what is never taken for renamed.
fn kind(facts: Option<Facts>) -> Option<(bool, u64)> {
    let facts = facts.filter(|facts| facts.is_directory() || (facts.is_file() && facts.size > 0))?;
    Some((facts.is_directory(), if facts.is_directory() { 0 } else { facts.size }))
}

fn sign(root: &OwnedFd, path: &Path, facts: Option<Facts>) -> io::Result<Option<Sign>> {
    const BEGINNING: u64 = 4096;
    let (Some(facts), Some((directory, name))) = (facts, parent_of(root.as_fd(), path)) else { return Ok(None) };
    let mut hasher = DefaultHasher::new();
    if facts.is_directory() {
        let Some(files) = files(Side { directory: directory.as_fd(), facts }, &name)? else { return Ok(None) };
        files.hash(&mut hasher);
        return Ok((!files.is_empty()).then(|| Sign::Directory(hasher.finish())));
    }
    if !facts.is_file() || facts.size == 0 {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    match open_file(&directory, &name) {
        Ok(file) => File::from(file).take(BEGINNING).read_to_end(&mut bytes)?,
        Err(_) => return Ok(None),
    };
    bytes.hash(&mut hasher);
    Ok(Some(Sign::File { size: facts.size, beginning: hasher.finish() }))
}

fn same(sides: &Sides, new: &Path, old: &Path, budget: &mut u64) -> io::Result<bool> {
    let (Some((above, new_name)), Some((below, old_name))) =
        (parent_of(sides.upper.as_fd(), new), parent_of(sides.lower.as_fd(), old))
    else {
        return Ok(false);
    };
    let facts = Facts::of(&above, &new_name)?.zip(Facts::of(&below, &old_name)?);
    let Some((new, old)) = facts else { return Ok(false) };
    let (new, old) = (Side { directory: above.as_fd(), facts: new }, Side { directory: below.as_fd(), facts: old });
    if !new.facts.is_directory() {
        return same_file(&new_name, new, &old_name, old, budget);
    }
    let (Some(new_files), Some(old_files)) = (files(new, &new_name)?, files(old, &old_name)?) else { return Ok(false) };
    if new_files != old_files {
        return Ok(false);
    }
    for path in new_files.iter().filter(|(_, size)| size.is_some()).map(|(path, _)| path) {
        let opened = parent_of(above.as_fd(), &Path::new(&new_name).join(path))
            .zip(parent_of(below.as_fd(), &Path::new(&old_name).join(path)));
        let Some(((new, new_name), (old, old_name))) = opened else { return Ok(false) };
        let Some((a, b)) = Facts::of(&new, &new_name)?.zip(Facts::of(&old, &old_name)?) else { return Ok(false) };
        let (a, b) = (Side { directory: new.as_fd(), facts: a }, Side { directory: old.as_fd(), facts: b });
        if !same_file(&new_name, a, &old_name, b, budget)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn same_file(new_name: &OsStr, new: Side<'_>, old_name: &OsStr, old: Side<'_>, budget: &mut u64) -> io::Result<bool> {
    let Some(left) = budget.checked_sub(new.facts.size) else { return Ok(false) };
    *budget = left;
    same_content(new_name, new, old_name, old)
}

/// What is below a directory, files with their sizes. `None` if that is too much.
fn files(side: Side<'_>, name: &OsString) -> io::Result<Option<BTreeMap<PathBuf, Option<u64>>>> {
    let mut found = BTreeMap::new();
    walk::tree(side.directory, name, Path::new(""), &mut |inner, path| {
        if found.len() <= MOST_FILES {
            found.insert(path.to_owned(), inner.facts.is_file().then_some(inner.facts.size));
        }
        Ok(())
    })?;
    Ok(Some(found).filter(|found| found.len() <= MOST_FILES))
}
