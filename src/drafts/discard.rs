use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use super::changes::{Sides, differences};
use super::parents::parent_of;
use super::transfer::{self, NotPlaced, Transfer};
use super::walk::{self, Side};
use super::{Change, Draft, DraftError, Selection, settle};
use crate::sandbox::draft;

/// In the draft while `discard` runs.
const STAGING: &str = ".testudo-discard";

/// What `discard` did.
#[derive(Debug, Default)]
pub struct Discarded {
    pub done: Vec<Change>,
    pub refused: Vec<(Change, String)>,
}

/// Drops the selected changes. While a server works on the draft, the originals are written into it through the mounted
/// overlay, as a command would do it: the kernel does not define what happens when the layers of a mounted overlay change.
/// For that the calling process enters the namespaces of the server, so it must have a single thread.
pub fn discard(draft: &Draft, selection: &Selection) -> Result<Discarded, DraftError> {
    let error = |error: io::Error| DraftError::NotKept { project: draft.project().display().to_string(), error };
    let sides = Sides::open(draft).map_err(error)?;
    let lease = draft.lease().map_err(error)?;
    let lease = lease.ok_or_else(|| DraftError::Taken {
        project: draft.project().display().to_string(),
        reason: "its mounts cannot be entered from here",
    })?;
    let refused = |failure| DraftError::Refused { project: draft.project().display().to_string(), failure };
    let namespaces = lease.namespaces().map_err(error)?;
    if let [users, mounts] = &namespaces[..] {
        draft::join(users, mounts).map_err(refused)?;
        return discard_mounted(draft, &sides, selection).map_err(error);
    }
    if selection.is_everything() {
        let done = differences(draft, &sides).map_err(error)?;
        drop(lease);
        if draft.remove().map_err(error)? {
            return Ok(Discarded { done, refused: Vec::new() });
        }
        // A server has come just now.
        return discard(draft, selection);
    }
    draft::separate().map_err(refused)?;
    draft::mount(draft.project(), draft.directory()).map_err(refused)?;
    let discarded = discard_mounted(draft, &sides, selection).map_err(error)?;
    draft::unmount(draft.project()).map_err(error)?;
    settle::settle(draft, &sides.lower).map_err(error)?;
    Ok(discarded)
}

/// The same in a process for which the project's path leads to the draft.
pub fn discard_mounted(draft: &Draft, sides: &Sides, selection: &Selection) -> io::Result<Discarded> {
    let changes = differences(draft, sides)?;
    let changes = changes.into_iter().filter(|change| selection.has(&change.path)).collect();
    let mut discarded = Discarded::default();
    take_back(draft.project(), sides, changes, &mut discarded)?;
    Ok(discarded)
}

/// Writes the originals into the draft. The project's path leads to the draft here.
fn take_back(project: &Path, sides: &Sides, changes: Vec<Change>, discarded: &mut Discarded) -> io::Result<()> {
    let mut transfer = Transfer::into(transfer::open_directory(project)?, STAGING)?;
    let (removals, places): (Vec<Change>, Vec<Change>) =
        changes.into_iter().partition(|change| change.original.is_none());
    // Outermost first: a directory goes with all that is in it.
    for change in removals {
        let now = transfer.facts(&change.path)?;
        let removed = now.map_or(Ok(()), |now| transfer.remove(&change.path, &now));
        discarded.note(change, removed);
    }
    let mut directories: Vec<PathBuf> = Vec::new();
    for change in places {
        let placed = restore(&mut transfer, sides, &change, &mut directories);
        discarded.note(change, placed);
    }
    for path in directories.iter().rev() {
        let (parent, name) = match parent_of(sides.lower.as_fd(), path) {
            Some(found) => found,
            None => (sides.lower.try_clone()?, ".".into()),
        };
        if let Some(facts) = super::facts::Facts::of(&parent, &name)? {
            transfer.finish_directory(path, Side { directory: parent.as_fd(), facts }, &name)?;
        }
    }
    transfer.finish()
}

fn restore(
    transfer: &mut Transfer,
    sides: &Sides,
    change: &Change,
    directories: &mut Vec<PathBuf>,
) -> Result<(), NotPlaced> {
    let Some((parent, name)) = parent_of(sides.lower.as_fd(), &change.path) else {
        directories.push(change.path.clone());
        return Ok(());
    };
    let Some(facts) = super::facts::Facts::of(&parent, &name)? else { return Ok(()) };
    let now = transfer.facts(&change.path)?;
    let kept = facts.is_directory() && now.is_some_and(|now| now.is_directory());
    if !kept {
        transfer.place(&change.path, Side { directory: parent.as_fd(), facts }, now.as_ref())?;
    }
    if !facts.is_directory() {
        return Ok(());
    }
    directories.push(change.path.clone());
    if kept {
        return Ok(());
    }
    let mut result = Ok(());
    walk::tree(&parent, &name, &change.path, &mut |side, path| {
        if side.facts.is_directory() {
            directories.push(path.to_owned());
        }
        let placed = transfer.place(path, side, None);
        if let (true, Err(_)) = (result.is_ok(), &placed) {
            result = placed;
        }
        Ok(())
    })?;
    result
}

impl Discarded {
    fn note(&mut self, change: Change, result: Result<(), NotPlaced>) {
        let reason = match result {
            Ok(()) => return self.done.push(change),
            Err(NotPlaced::Restless | NotPlaced::Overtaken) => {
                "a command keeps changing it; try again when it has ended".to_owned()
            }
            Err(NotPlaced::Special) => "it is a socket or a device".to_owned(),
            Err(NotPlaced::Failed(error)) => error.to_string(),
        };
        self.refused.push((change, reason));
    }
}
