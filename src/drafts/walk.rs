//! Goes through the upper layer and the person's directory side by side.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::facts::{self, Facts};

/// One side of an entry: the directory that it is in, and what it is.
#[derive(Clone, Copy)]
pub struct Side<'a> {
    pub directory: BorrowedFd<'a>,
    pub facts: Facts,
}

/// Something that the upper layer decides about.
pub struct Entry<'a> {
    /// Relative to the project. Empty for the project's own directory.
    pub path: &'a Path,
    pub name: &'a OsStr,
    /// `None` if it is hidden by a directory above that replaces the person's.
    pub upper: Option<Side<'a>>,
    /// The person's own. `None` if there is nothing.
    pub lower: Option<Side<'a>>,
    /// The directory of the upper layer that it is in, for the times of deletions.
    pub parent: Facts,
}

impl Entry<'_> {
    /// What commands see, if they see anything.
    pub fn draft(&self) -> Option<Side<'_>> {
        self.upper.filter(|side| !side.facts.is_whiteout())
    }
}

/// Visits every entry of the upper layer, a directory before what is in it. A directory that was deleted as a whole is one
/// entry.
pub fn walk(
    upper: &OwnedFd,
    lower: &OwnedFd,
    visit: &mut impl FnMut(&Entry<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let (above, below) = (Facts::of_descriptor(upper)?, Facts::of_descriptor(lower)?);
    let side = |directory, facts| Some(Side { directory, facts });
    let root = Entry {
        path: Path::new(""),
        name: OsStr::new("."),
        upper: side(upper.as_fd(), above),
        lower: side(lower.as_fd(), below),
        parent: above,
    };
    visit(&root)?;
    directory(upper, Some(lower), false, Path::new(""), above, visit)
}

fn directory(
    upper: &OwnedFd,
    lower: Option<&OwnedFd>,
    hides: bool,
    path: &Path,
    parent: Facts,
    visit: &mut impl FnMut(&Entry<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let names = names_of(upper)?;
    for name in &names {
        // Gone since it was listed: a command works on.
        let Some(above) = Facts::of(upper, name)? else { continue };
        let below = lower.map(|lower| Facts::of(lower, name)).transpose()?.flatten();
        let path = path.join(name);
        let entry = Entry {
            path: &path,
            name,
            upper: Some(Side { directory: upper.as_fd(), facts: above }),
            lower: lower.zip(below).map(|(lower, facts)| Side { directory: lower.as_fd(), facts }),
            parent,
        };
        visit(&entry)?;
        if !above.is_directory() {
            continue;
        }
        let inner = match facts::open_directory(upper, name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            opened => opened?,
        };
        let below = below.filter(Facts::is_directory).zip(lower);
        let under = below.map(|(_, lower)| facts::open_directory(lower, name)).transpose()?;
        let hides = hides || facts::is_opaque(&inner);
        let result = directory(&inner, under.as_ref(), hides, &path, above, visit);
        close_again(&inner, &above);
        if let Some(((facts, _), under)) = below.zip(under) {
            close_again(&under, &facts);
        }
        result?;
    }
    let Some(lower) = lower.filter(|_| hides) else { return Ok(()) };
    let kept: HashSet<&OsString> = names.iter().collect();
    for name in names_of(lower)?.iter().filter(|name| !kept.contains(name)) {
        let Some(facts) = Facts::of(lower, name)? else { continue };
        let lower = Some(Side { directory: lower.as_fd(), facts });
        visit(&Entry { path: &path.join(name), name, upper: None, lower, parent })?;
    }
    Ok(())
}

/// Sets back the mode of a directory that had to be opened up.
fn close_again(directory: &OwnedFd, before: &Facts) {
    if Facts::of_descriptor(directory).is_ok_and(|now| now.mode != before.mode) && before.mode & 0o500 != 0o500 {
        let _ = rustix::fs::fchmod(directory, rustix::fs::Mode::from_raw_mode(before.mode));
    }
}

/// The names in a directory, sorted.
pub fn names_of(directory: impl AsFd) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::read_from(directory)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name != "." && name != ".." {
            names.push(name.to_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// Every path below a directory, a directory before what is in it.
pub fn tree(
    parent: impl AsFd,
    name: &OsStr,
    path: &Path,
    visit: &mut impl FnMut(Side<'_>, &Path) -> io::Result<()>,
) -> io::Result<()> {
    let directory = facts::open_directory(parent, name)?;
    for name in names_of(&directory)? {
        let Some(facts) = Facts::of(&directory, &name)? else { continue };
        let path: PathBuf = path.join(&name);
        visit(Side { directory: directory.as_fd(), facts }, &path)?;
        if facts.is_directory() {
            tree(&directory, &name, &path, visit)?;
        }
    }
    Ok(())
}
