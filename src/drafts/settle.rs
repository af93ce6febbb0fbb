use std::collections::HashSet;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, mknodat};
use rustix::io::Errno;

use super::changes::{Sides, differences};
use super::facts::{self, Directory};
use super::parents::parent_of;
use super::transfer::{self, remove_all};
use super::walk;
use super::{Draft, baseline};
use crate::sandbox::draft::MOVING;

/// Removes from the upper layer what is the same in the person's files: it was applied, or taken back. Nobody may have the
/// draft mounted.
pub fn settle(draft: &Draft, lower: &OwnedFd) -> io::Result<()> {
    let upper = transfer::open_directory(&draft.upper())?;
    let sides = Sides { upper, lower: lower.try_clone()? };
    let mut needed = HashSet::new();
    for change in differences(draft, &sides)? {
        if change.draft.is_none() {
            make_visible(&sides, &change.path)?;
        }
        for path in change.path.ancestors() {
            if !needed.insert(path.to_owned()) {
                break;
            }
        }
    }
    if !walk::names_of(&sides.upper)?.is_empty() {
        // What was applied has to be on the disk before the draft's copy of it goes.
        rustix::fs::syncfs(lower)?;
    }
    prune(&sides.upper, Path::new(""), &needed)?;
    baseline::forget_applied(draft)
}

/// Writes a deletion down that the upper layer does not have.
fn make_visible(sides: &Sides, path: &Path) -> io::Result<()> {
    let Some((directory, name)) = parent_of(sides.upper.as_fd(), path) else { return Ok(()) };
    let made = mknodat(&directory, &*name, FileType::CharacterDevice, Mode::empty(), 0);
    match made {
        Err(Errno::EXIST) => Ok(()),
        made => Ok(made?),
    }
}

fn prune(directory: &OwnedFd, path: &Path, needed: &HashSet<PathBuf>) -> io::Result<()> {
    for name in walk::names_of(directory)? {
        let path = path.join(&name);
        // The supervisor was killed while it moved a directory. All that is in it has its old name as well.
        let is_left = name.as_bytes().starts_with(MOVING.as_bytes());
        if is_left || !needed.contains(&path) {
            remove_all(directory.as_fd(), &name)?;
            continue;
        }
        let Some(found) = facts::Facts::of(directory, &name)?.filter(facts::Facts::is_directory) else { continue };
        let inner = Directory::open(directory, &name)?.stay_open()?;
        // In a directory that hides the person's, what is the same has to stay: it would vanish.
        if !facts::is_opaque(&inner) {
            if found.mode & 0o300 != 0o300 {
                rustix::fs::fchmod(&inner, Mode::RWXU)?;
            }
            prune(&inner, &path, needed)?;
        }
        rustix::fs::fchmod(&inner, Mode::from_raw_mode(found.mode))?;
        rustix::fs::futimens(&inner, &found.times())?;
    }
    Ok(())
}
