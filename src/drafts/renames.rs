//! Pairs what was deleted with what was added and has the same content. An overlay keeps no record of renames: `mv` of a
//! directory that comes from the layer below copies it.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};

use super::Change;
use super::changes::Sides;
use super::compare::same_content;
use super::facts::Facts;
use super::walk::{self, Side};

/// More than this is not compared; it is shown as deleted and added.
const MOST_FILES: usize = 20_000;
const MOST_BYTES: u64 = 256 << 20;

pub fn find(changes: &mut [Change], sides: &Sides) -> io::Result<()> {
    let added = |change: &Change| change.original.is_none() && change.draft.is_some();
    let deleted: Vec<usize> = (0..changes.len()).filter(|index| changes[*index].draft.is_none()).collect();
    if deleted.is_empty() || !changes.iter().any(added) {
        return Ok(());
    }
    let mut budget = MOST_BYTES;
    // By kind and size; a directory's size says nothing.
    let mut candidates: HashMap<(bool, u64), Vec<usize>> = HashMap::new();
    for (index, change) in changes.iter().enumerate().filter(|(_, change)| added(change)) {
        if let Some(facts) = change.draft.filter(|facts| facts.is_directory() || (facts.is_file() && facts.size > 0)) {
            candidates.entry(key(&facts)).or_default().push(index);
        }
    }
    for gone in deleted {
        let Some(old) = changes[gone].original else { continue };
        let Some(possible) = candidates.get_mut(&key(&old)) else { continue };
        // The same name first: a move is more likely than a copy under another name.
        let name = changes[gone].path.file_name().map(OsStr::to_owned);
        possible.sort_by_key(|index| changes[*index].path.file_name() != name.as_deref());
        let mut found = None;
        for (position, index) in possible.iter().enumerate() {
            let paths = (&*changes[*index].path, &*changes[gone].path);
            if changes[*index].renamed_from.is_none() && same(sides, paths, &mut budget)? {
                found = Some(position);
                break;
            }
        }
        if let Some(position) = found {
            let index = possible.swap_remove(position);
            changes[index].renamed_from = Some(changes[gone].path.clone());
            changes[gone].renamed_away = true;
        }
    }
    Ok(())
}

fn key(facts: &Facts) -> (bool, u64) {
    (facts.is_directory(), if facts.is_directory() { 0 } else { facts.size })
}

fn same(sides: &Sides, (new, old): (&Path, &Path), budget: &mut u64) -> io::Result<bool> {
    let (Some((above, new_name)), Some((below, old_name))) = (parent(&sides.upper, new), parent(&sides.lower, old))
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
    if new_files.is_empty() || new_files != old_files {
        return Ok(false);
    }
    for path in new_files.iter().filter(|(_, (kind, _))| *kind == Kind::File).map(|(path, _)| path) {
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

#[derive(Eq, PartialEq)]
enum Kind {
    File,
    Other,
}

/// What is below a directory, with sizes. `None` if that is too much.
fn files(side: Side<'_>, name: &OsStr) -> io::Result<Option<BTreeMap<PathBuf, (Kind, u64)>>> {
    let mut found = BTreeMap::new();
    walk::tree(side.directory, name, Path::new(""), &mut |inner, path| {
        let is_file = inner.facts.kind == FileType::RegularFile;
        let kind = if is_file { Kind::File } else { Kind::Other };
        if found.len() <= MOST_FILES {
            found.insert(path.to_owned(), (kind, if is_file { inner.facts.size } else { 0 }));
        }
        Ok(())
    })?;
    Ok(Some(found).filter(|found| found.len() <= MOST_FILES))
}

fn parent(root: &OwnedFd, path: &Path) -> Option<(OwnedFd, OsString)> {
    parent_of(root.as_fd(), path)
}

/// Opens the directory that a path is in. Follows no link.
pub fn parent_of(root: std::os::fd::BorrowedFd<'_>, path: &Path) -> Option<(OwnedFd, OsString)> {
    let name = path.file_name()?.to_owned();
    let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Some((rustix::fs::openat2(root, above, flags, Mode::empty(), resolve).ok()?, name))
}

/// What is at a path.
pub fn facts_of(root: std::os::fd::BorrowedFd<'_>, path: &Path) -> Option<Facts> {
    let (directory, name) = parent_of(root, path)?;
    Facts::of(&directory, &name).ok().flatten()
}
