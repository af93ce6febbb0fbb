use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::changes::{Sides, differences};
use super::facts::Facts;
use super::parents::{Parents, parent_of};
use super::transfer::{NotPlaced, Transfer};
use super::walk::{self, Side};
use super::{Change, Draft, Selection, baseline, settle};

/// In the project while `apply` runs. A later `apply` removes what a killed one left in it.
const STAGING: &str = ".testudo-apply";

/// What `apply` did.
#[derive(Debug, Default)]
pub struct Applied {
    pub done: Vec<Change>,
    pub refused: Vec<Refused>,
}

/// A change that was left in the draft.
#[derive(Debug)]
pub struct Refused {
    pub change: Change,
    pub reason: String,
    /// The person has changed the original.
    pub conflict: bool,
}

/// Takes the selected changes over into the person's files. `force` overwrites what the person has changed meanwhile.
pub fn apply(draft: &Draft, sides: &Sides, selection: &Selection, force: bool) -> io::Result<Applied> {
    let _alone = alone(draft)?;
    let mut transfer = Transfer::into(sides.lower.try_clone()?, STAGING)?;
    let changes = differences(draft, sides)?;
    let needed = parents(&changes, selection);
    let wanted = |change: &&Change| selection.has(&change.path) || needed.contains(&change.path);
    let (mut applied, mut sources) = (Applied::default(), Parents::new(sides.upper.as_fd()));
    let (places, removals): (Vec<&Change>, Vec<&Change>) =
        changes.iter().filter(wanted).partition(|change| change.draft.is_some());
    // What replaces something comes before what only goes, so that a renamed file is never gone.
    for change in places.into_iter().chain(removals) {
        if change.conflict && !force {
            applied.refuse(change, None);
            continue;
        }
        match carry(&mut transfer, &mut sources, change) {
            Ok(()) => applied.done.push(change.clone()),
            Err(why) => applied.refuse(change, Some(why)),
        }
    }
    directories(&mut transfer, draft, sides, selection, &applied)?;
    let mut now = Vec::new();
    for change in &applied.done {
        now.push((change.path.clone(), transfer.facts(&change.path)?));
    }
    transfer.finish()?;
    baseline::renew(draft, &now, true)?;
    Ok(applied)
}

/// Two processes that apply one draft would take each other's staging directory away.
fn alone(draft: &Draft) -> io::Result<File> {
    let path = draft.directory().join("apply.lock");
    let file = File::options().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
    flock(&file, FlockOperation::LockExclusive)?;
    Ok(file)
}

/// New directories above what was selected.
fn parents(changes: &[Change], selection: &Selection) -> HashSet<PathBuf> {
    let selected = changes.iter().filter(|change| change.draft.is_some() && selection.has(&change.path));
    let above: HashSet<&Path> = selected.flat_map(|change| change.path.ancestors().skip(1)).collect();
    let new = |change: &&Change| change.draft.is_some_and(|draft| draft.is_directory()) && change.difference.content;
    changes
        .iter()
        .filter(new)
        .filter(|change| above.contains(&*change.path))
        .map(|change| change.path.clone())
        .collect()
}

fn carry(transfer: &mut Transfer, sources: &mut Parents<'_>, change: &Change) -> Result<(), NotPlaced> {
    match (change.draft, &change.original) {
        (None, Some(original)) => transfer.remove(&change.path, original),
        // Its mode and the like are set when all is in place.
        (Some(draft), Some(original)) if draft.is_directory() && original.is_directory() => Ok(()),
        (Some(facts), original) => {
            let directory = sources.of(&change.path).ok_or(io::Error::from(io::ErrorKind::NotFound))?;
            transfer.place(&change.path, Side { directory, facts }, original.as_ref())
        }
        (None, None) => Ok(()),
    }
}

/// Modes and times of directories come last, the innermost first: a directory may not be writable afterwards, and every file
/// that is put into it changes its times.
fn directories(
    transfer: &mut Transfer,
    draft: &Draft,
    sides: &Sides,
    selection: &Selection,
    applied: &Applied,
) -> io::Result<()> {
    let done: HashSet<&Path> = applied.done.iter().map(|change| &*change.path).collect();
    let refused: HashSet<&Path> = applied.refused.iter().map(|refused| &*refused.change.path).collect();
    let touched: HashSet<&Path> =
        applied.done.iter().flat_map(|change| [Some(&*change.path), change.path.parent()]).flatten().collect();
    let baseline = baseline::look(draft, &sides.lower)?;
    let mut found: Vec<(PathBuf, Facts)> = Vec::new();
    walk::walk(&sides.upper, &sides.lower, &mut |entry| {
        let both = entry.draft().zip(entry.lower).filter(|(draft, _)| draft.facts.is_directory());
        let Some((draft, lower)) = both.filter(|(_, lower)| lower.facts.is_directory()) else { return Ok(()) };
        let wanted = selection.has(entry.path) || touched.contains(entry.path);
        if wanted && !refused.contains(entry.path) {
            let mut facts = draft.facts;
            // The person has changed the mode, and the draft has not.
            if let Some(baseline::Original::Directory { mode, .. }) = baseline.original(entry.path)
                && mode == facts.mode
            {
                facts.mode = lower.facts.mode;
            }
            if !selection.has(entry.path) && !done.contains(entry.path) {
                facts.mode = lower.facts.mode;
            }
            found.push((entry.path.to_owned(), facts));
        }
        Ok(())
    })?;
    for (path, facts) in found.into_iter().rev() {
        if path.as_os_str().is_empty() {
            transfer.finish_directory(
                &path,
                Side { directory: sides.upper.as_fd(), facts },
                std::ffi::OsStr::new("."),
            )?;
        } else if let Some((directory, name)) = parent_of(sides.upper.as_fd(), &path) {
            transfer.finish_directory(&path, Side { directory: directory.as_fd(), facts }, &name)?;
        }
    }
    Ok(())
}

/// While nobody has the draft mounted, what was applied can leave it. Otherwise the next server does that. Not for a server
/// that has it mounted.
pub fn settle_if_free(draft: &Draft, sides: &Sides) -> io::Result<()> {
    if let Some(lease) = draft.lease()?
        && lease.namespaces()?.is_empty()
    {
        settle::settle(draft, &sides.lower)?;
    }
    Ok(())
}

impl Applied {
    fn refuse(&mut self, change: &Change, why: Option<NotPlaced>) {
        let (reason, conflict) = match why {
            None | Some(NotPlaced::Overtaken) => {
                ("the original has changed since the draft was made from it".to_owned(), true)
            }
            Some(NotPlaced::Restless) => {
                ("a command keeps writing to it; try again when it has ended".to_owned(), false)
            }
            Some(NotPlaced::Special) => ("it is a socket or a device, which is not taken over".to_owned(), false),
            Some(NotPlaced::Failed(error)) => (error.to_string(), false),
        };
        self.refused.push(Refused { change: change.clone(), reason, conflict });
    }
}
