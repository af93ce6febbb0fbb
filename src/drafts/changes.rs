use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use super::baseline::{self, Original};
use super::compare::{Difference, compare, target};
use super::facts::Facts;
use super::parents::facts_of;
use super::renames;
use super::walk::{self, Entry};
use super::{Draft, transfer};

/// One path at which the draft differs from the person's files.
#[derive(Clone, Debug)]
pub struct Change {
    /// Relative to the project; empty for the project's own directory.
    pub path: PathBuf,
    /// `None` if it was deleted.
    pub draft: Option<Facts>,
    /// `None` if there was nothing.
    pub original: Option<Facts>,
    pub difference: Difference,
    /// The targets of links, in the draft and in the original.
    pub targets: [Option<Vec<u8>>; 2],
    /// The person has changed the original since the draft was made from it.
    pub conflict: bool,
    /// The deleted path with the same content.
    pub renamed_from: Option<PathBuf>,
    /// This deletion is the other side of a rename.
    pub renamed_away: bool,
}

/// A draft and the person's directory, side by side.
#[derive(Debug)]
pub struct Sides {
    pub upper: OwnedFd,
    pub lower: OwnedFd,
}

impl Sides {
    /// Called outside the draft: the project's own path leads to the person's files.
    pub fn open(draft: &Draft) -> io::Result<Self> {
        Ok(Self { upper: transfer::open_directory(&draft.upper())?, lower: transfer::open_directory(draft.project())? })
    }
}

/// Everything that is different, sorted by path, a directory before what is in it.
pub fn changes(draft: &Draft, sides: &Sides) -> io::Result<Vec<Change>> {
    let mut found = differences(draft, sides)?;
    renames::find(&mut found, sides)?;
    Ok(found)
}

/// The same without looking for renames, which only people want to know.
pub fn differences(draft: &Draft, sides: &Sides) -> io::Result<Vec<Change>> {
    let baseline = baseline::look(draft, &sides.lower)?;
    let (mut found, mut same, mut linked) = (Vec::new(), Vec::new(), Linked::default());
    let mut vanished: HashMap<&Path, Original> = baseline.applied().collect();
    walk::walk(&sides.upper, &sides.lower, &mut |entry| {
        vanished.remove(entry.path);
        let original = baseline.original(entry.path).unwrap_or(Original::Unknown);
        let Some(mut change) = change(entry, original)? else { return Ok(()) };
        linked.add(&change);
        if change.difference.is_any() {
            change.conflict = is_conflict(entry, original, &change)?;
            found.push(change);
        } else if !original.is(change.original.as_ref()) {
            // What is the same now was applied, perhaps by a process that did not live to write that down.
            same.push((change.path, change.original));
        }
        Ok(())
    })?;
    found.extend(vanished.into_iter().filter_map(|(path, original)| deleted_after_apply(path, original, sides)));
    found.extend(linked.newly_linked());
    found.sort_by(|one, other| one.path.cmp(&other.path));
    baseline::renew(draft, &same, false)?;
    Ok(found)
}

/// A command has deleted what was applied, and the upper layer says nothing of it.
fn deleted_after_apply(path: &Path, original: Original, sides: &Sides) -> Option<Change> {
    let facts = facts_of(sides.lower.as_fd(), path)?;
    // A directory above it tells it all.
    let above = path.parent().filter(|above| !above.as_os_str().is_empty());
    if above.is_some_and(|above| facts_of(sides.upper.as_fd(), above).is_none_or(|above| !above.is_directory())) {
        return None;
    }
    Some(Change {
        path: path.to_owned(),
        draft: None,
        original: Some(facts),
        difference: Difference { content: true, ..Difference::default() },
        targets: [None, None],
        conflict: !original.is(Some(&facts)),
        renamed_from: None,
        renamed_away: false,
    })
}

/// `None` if the upper layer has something that decides nothing.
fn change(entry: &Entry<'_>, original: Original) -> io::Result<Option<Change>> {
    let mut change = Change {
        path: entry.path.to_owned(),
        draft: entry.draft().map(|side| side.facts),
        original: entry.lower.map(|side| side.facts),
        difference: Difference::default(),
        targets: [None, None],
        conflict: false,
        renamed_from: None,
        renamed_away: false,
    };
    let link = |side: walk::Side<'_>| side.facts.is_link().then(|| target(side, entry.name)).transpose();
    match (entry.draft(), entry.lower) {
        (None, None) => return Ok(None),
        (Some(draft), Some(lower)) => {
            let gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
            change.difference = match compare(entry.name, draft, lower) {
                // A command has removed it meanwhile.
                Err(error) if gone(&error) => return Ok(None),
                compared => compared?,
            };
            let untouched = draft.facts.mode == lower.facts.mode && original.is_only_copied(&draft.facts);
            if untouched && !original.is(Some(&lower.facts)) {
                change.difference = Difference::default();
            }
            if let (Original::Directory { mode, .. }, true) = (original, draft.facts.is_directory()) {
                change.difference.mode &= draft.facts.mode != mode;
            }
            change.targets = [link(draft)?, link(lower)?];
        }
        (draft, lower) => {
            change.difference.content = true;
            change.targets = [draft.map(link).transpose()?.flatten(), lower.map(link).transpose()?.flatten()];
        }
    }
    Ok(Some(change))
}

fn is_conflict(entry: &Entry<'_>, original: Original, change: &Change) -> io::Result<bool> {
    let lower = entry.lower.map(|side| side.facts);
    let Some(side) = entry.lower.filter(|side| side.facts.is_directory()) else {
        return Ok(!original.is(lower.as_ref()));
    };
    if change.draft.is_some_and(|draft| draft.is_directory()) {
        // A directory that both sides made has no mode of its own yet: an apply that was killed may have made it.
        let changed = |mode: u32| lower.is_some_and(|lower| lower.mode != mode);
        let by_person = matches!(original, Original::Directory { mode, .. } if changed(mode));
        return Ok(change.difference.mode && by_person);
    }
    // All that is in it goes, so all of it must be as it was.
    let Original::Directory { gone: Some(gone), .. } = original else { return Ok(true) };
    let mut changed = side.facts.changed > gone;
    walk::tree(side.directory, entry.name, Path::new(""), &mut |inner, _| {
        changed |= inner.facts.changed > gone;
        Ok(())
    })?;
    Ok(changed)
}

/// Files of the draft with several names.
#[derive(Default)]
struct Linked {
    groups: HashMap<u64, Vec<Name>>,
}

struct Name {
    /// The inode of the original.
    original: Option<u64>,
    /// Set for a name at which nothing else differs.
    same: Option<Change>,
}

impl Linked {
    fn add(&mut self, change: &Change) {
        if let Some(draft) = change.draft.filter(|draft| draft.is_file() && draft.names > 1) {
            let original = change.original.map(|original| original.inode);
            let same = (!change.difference.is_any()).then(|| change.clone());
            self.groups.entry(draft.inode).or_default().push(Name { original, same });
        }
    }

    /// Names with the same content as their originals, that are one file in the draft and several there.
    fn newly_linked(self) -> Vec<Change> {
        let apart = |names: &Vec<Name>| names.iter().any(|name| name.original != names[0].original);
        let names = self.groups.into_values().filter(apart).flatten();
        let mut found: Vec<Change> = names.filter_map(|name| name.same).collect();
        found.iter_mut().for_each(|change| change.difference.links = true);
        found
    }
}
