//! Draws the two upper levels of a directory. It reads through handles, and the drawing is bounded however large the
//! directory is.

use std::collections::BTreeSet;
use std::ffi::{CString, OsString};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use rustix::fs::{Dir, FileType, Mode, OFlags};

use super::MOST_CHARACTERS;
use crate::base::mounts;
use crate::files::{DenyGlobs, FileError, Interrupt, PathHandle};

const HIDDEN: [&str; 2] = [".git", "node_modules"];
const LEVELS: usize = 2;
/// How many names of one directory are shown.
const MOST_NAMES: usize = 500;
/// How many lines the whole drawing has.
const MOST_LINES: usize = 2_000;

/// Draws the directory. A link is shown with its target and not followed. Denied names are left out.
pub fn draw(
    directory: &PathHandle,
    requested: &str,
    deny: &DenyGlobs,
    interrupt: &Interrupt,
) -> Result<String, FileError> {
    let name = directory.path().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut drawing = Drawing { top: directory, deny, interrupt, lines: vec![format!("{name}/")] };
    drawing.level(directory, Path::new(""), "", 1).map_err(|error| FileError::os("list", requested, error))?;
    if interrupt.reason().is_some() {
        return Err(FileError::Cancelled);
    }
    let mut room = MOST_CHARACTERS - 200;
    let fits = |line: &&String| {
        let length = line.chars().count() + 1;
        room.checked_sub(length).map(|left| room = left).is_some()
    };
    let shown = drawing.lines.iter().take(MOST_LINES).take_while(fits).count();
    if shown < drawing.lines.len() {
        drawing.lines.truncate(shown);
        drawing
            .lines
            .push(format!("[Truncated: showing the first {shown} lines. View a directory in it, or use find.]"));
    }
    Ok(drawing.lines.join("\n") + "\n")
}

struct Drawing<'a> {
    top: &'a PathHandle,
    deny: &'a DenyGlobs,
    interrupt: &'a Interrupt,
    lines: Vec<String>,
}

impl Drawing<'_> {
    fn level(&mut self, directory: impl AsFd, below: &Path, indent: &str, level: usize) -> rustix::io::Result<()> {
        let handle =
            rustix::fs::openat(&directory, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let (names, left_out) = self.names(Dir::new(handle)?, below);
        let last = names.len();
        for (index, name) in names.into_iter().enumerate() {
            if self.lines.len() > MOST_LINES || self.interrupt.is_due() {
                return Ok(());
            }
            let (branch, next) =
                if index + 1 == last && left_out == 0 { ("└── ", "    ") } else { ("├── ", "│   ") };
            let shown = name.to_string_lossy();
            if !mounts::answers(&self.top.real().join(below).join(&name)) {
                self.lines.push(format!("{indent}{branch}{shown}/ (does not answer)"));
                continue;
            }
            let step = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let child = rustix::fs::openat(&directory, &name, step, Mode::empty());
            let kind = child.as_ref().ok().and_then(|child| rustix::fs::fstat(child).ok());
            match (kind.map(|stat| FileType::from_raw_mode(stat.st_mode)), child) {
                (Some(FileType::Symlink), Ok(link)) => {
                    let target = rustix::fs::readlinkat(&link, "", Vec::new()).map(CString::into_bytes);
                    let target = String::from_utf8_lossy(&target.unwrap_or_default()).into_owned();
                    self.lines.push(format!("{indent}{branch}{shown} -> {target}"));
                }
                (Some(FileType::Directory), Ok(child)) => {
                    self.lines.push(format!("{indent}{branch}{shown}/"));
                    if level < LEVELS {
                        // A directory that may not be listed is shown by its name alone.
                        let _ = self.level(child, &below.join(&name), &format!("{indent}{next}"), level + 1);
                    }
                }
                _ => self.lines.push(format!("{indent}{branch}{shown}")),
            }
        }
        if left_out > 0 {
            self.lines.push(format!("{indent}└── … {left_out} more"));
        }
        Ok(())
    }

    /// The first names in alphabetical order, and how many more there are. A directory may hold millions.
    fn names(&self, directory: Dir, below: &Path) -> (BTreeSet<OsString>, usize) {
        let mut names = BTreeSet::new();
        let mut left_out = 0;
        for entry in directory.flatten() {
            let name = OsString::from_vec(entry.file_name().to_bytes().to_owned());
            let dots = name == "." || name == "..";
            if dots
                || HIDDEN.iter().any(|hidden| name == *hidden)
                || self.top.names().is_denied_below(self.deny, &below.join(&name))
                || self.deny.secrets().is_found(Some(entry.ino()), &self.top.real().join(below).join(&name))
            {
                continue;
            }
            names.insert(name);
            if names.len() > MOST_NAMES {
                names.pop_last();
                left_out += 1;
            }
            if self.interrupt.is_due() {
                break;
            }
        }
        (names, left_out)
    }
}
