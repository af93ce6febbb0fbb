//! Goes through the upper layer and the person's directory side by side.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::facts::{self, Directory, Facts};

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
pub fn walk(upper: &OwnedFd, lower: &OwnedFd, visit: &mut impl FnMut(&Entry<'_>) -> io::Result<()>) -> io::Result<()> {
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
    directory(upper.as_fd(), Some(lower.as_fd()), false, Path::new(""), above, visit)
}

fn directory(
    upper: BorrowedFd<'_>,
    lower: Option<BorrowedFd<'_>>,
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
            upper: Some(Side { directory: upper, facts: above }),
            lower: lower.zip(below).map(|(lower, facts)| Side { directory: lower, facts }),
            parent,
        };
        visit(&entry)?;
        if !above.is_directory() {
            continue;
        }
        let inner = match Directory::open(upper, name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            opened => opened?,
        };
        let under = lower.filter(|_| below.is_some_and(|below| below.is_directory()));
        let under = under.map(|lower| Directory::open(lower, name)).transpose()?;
        let hides = hides || facts::is_opaque(&inner);
        directory(inner.as_fd(), under.as_ref().map(AsFd::as_fd), hides, &path, above, visit)?;
    }
    let Some(lower) = lower.filter(|_| hides) else { return Ok(()) };
    let kept: HashSet<&OsString> = names.iter().collect();
    for name in names_of(lower)?.iter().filter(|name| !kept.contains(name)) {
        let Some(facts) = Facts::of(lower, name)? else { continue };
        let lower = Some(Side { directory: lower, facts });
        visit(&Entry { path: &path.join(name), name, upper: None, lower, parent })?;
    }
    Ok(())
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
    let directory = Directory::open(parent, name)?;
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
