//! In what a file of the draft differs from the person's own.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};

use rustix::fs::readlinkat;

use super::facts::{Directory, attributes, open_file};
use super::walk::Side;

/// What is different. Nothing is, if all fields are `false`.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each of these can differ without the others")]
pub struct Difference {
    /// The bytes of a file, the target of a link, or the kind.
    pub content: bool,
    pub mode: bool,
    pub owner: bool,
    pub attributes: bool,
    /// Of a file. The times of directories change with every file in them, so they do not count.
    pub times: bool,
    /// Two names are one file, and are not on the other side.
    pub links: bool,
}

impl Difference {
    pub fn is_any(self) -> bool {
        self != Self::default()
    }
}

pub fn compare(name: &OsStr, draft: Side<'_>, original: Side<'_>) -> io::Result<Difference> {
    let (new, old) = (draft.facts, original.facts);
    if new.kind != old.kind {
        return Ok(Difference { content: true, ..Difference::default() });
    }
    let mut difference = Difference {
        mode: new.mode != old.mode && !new.is_link(),
        owner: new.owner != old.owner,
        times: new.modified != old.modified && !new.is_directory(),
        ..Difference::default()
    };
    if new.is_link() {
        difference.content = target(draft, name)? != target(original, name)?;
    } else if new.is_file() {
        // Another size tells enough: nobody asks about the attributes of a file with other content.
        difference.content = new.size != old.size;
        if !difference.content {
            let (ours, theirs) = (open_file(draft.directory, name)?, open_file(original.directory, name)?);
            difference.attributes = attributes(&ours) != attributes(&theirs);
            difference.content = !same_bytes(&mut ours.into(), &mut theirs.into(), new.size)?;
        }
    } else if new.is_directory() {
        let (ours, theirs) = (Directory::open(draft.directory, name)?, Directory::open(original.directory, name)?);
        difference.attributes = attributes(&ours) != attributes(&theirs);
    }
    Ok(difference)
}

pub fn target(side: Side<'_>, name: &OsStr) -> io::Result<Vec<u8>> {
    Ok(readlinkat(side.directory, name, Vec::new())?.into_bytes())
}

fn same_bytes(one: &mut File, other: &mut File, size: u64) -> io::Result<bool> {
    // With a byte more, the end of a short file is seen at once.
    let length = usize::try_from(size.saturating_add(1)).unwrap_or(usize::MAX).min(64 * 1024);
    let (mut left, mut right) = (vec![0; length], vec![0; length]);
    loop {
        let count = one.read(&mut left)?;
        if count == 0 {
            return Ok(other.read(&mut right[..1])? == 0);
        }
        match other.read_exact(&mut right[..count]) {
            Ok(()) if left[..count] == right[..count] => {}
            Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => return Err(error),
            _ => return Ok(false),
        }
    }
}

/// Whether two files, which may have different names, hold the same bytes.
pub fn same_content(new_name: &OsStr, new: Side<'_>, old_name: &OsStr, old: Side<'_>) -> io::Result<bool> {
    let (ours, theirs) = (open_file(new.directory, new_name)?, open_file(old.directory, old_name)?);
    same_bytes(&mut ours.into(), &mut theirs.into(), new.facts.size)
}
