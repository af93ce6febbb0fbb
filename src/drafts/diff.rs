//! The content of changes as a unified diff.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use super::Change;
use super::changes::Sides;
use super::facts::{Facts, open_file};
use super::parents::parent_of;
use super::text::{line, name};
use crate::base::invisible::made_visible;
use crate::base::{line_diff, size};

/// Of a longer file only the beginning is compared.
const LONGEST: u64 = 256 << 10;
/// Git takes a file for binary if there is a zero byte so early.
const SNIFFED: usize = 8000;
/// A new or deleted file is shown so far.
const MOST_LINES: usize = 2000;
/// A person waits for the diffs of all files, so that of one may be rough.
const PATIENCE: Duration = Duration::from_secs(2);

/// What one change does to the content.
pub fn diff(change: &Change, sides: &Sides) -> io::Result<String> {
    let mut text = line(change);
    let file = |facts: Option<Facts>| facts.filter(Facts::is_file);
    let (new, old) = (file(change.draft), file(change.original));
    let moved_only = change.renamed_from.is_some() || change.renamed_away;
    if moved_only || (new.is_none() && old.is_none()) || !change.difference.content {
        return Ok(text);
    }
    let old_text = old.map(|facts| read(&sides.lower, &change.path, &facts)).transpose()?.flatten();
    let new_text = new.map(|facts| read(&sides.upper, &change.path, &facts)).transpose()?.flatten();
    let known = |facts: Option<Facts>, read: &Option<Side>| facts.is_none() || read.is_some();
    if !known(new, &new_text) || !known(old, &old_text) {
        let size = |facts: Option<Facts>| facts.map_or("nothing".to_owned(), |facts| size::text(facts.size));
        text.push_str(&format!("  binary: {} -> {}\n", size(old), size(new)));
        return Ok(text);
    }
    let is_cut = [&old_text, &new_text].iter().any(|side| side.as_ref().is_some_and(|side| side.is_cut));
    let (old_text, new_text) = (old_text.unwrap_or_default().text, new_text.unwrap_or_default().text);
    let header = |there: bool, letter: char| {
        if there { format!("{letter}/{}", name(&change.path)) } else { "/dev/null".to_owned() }
    };
    let (hunks, _) = line_diff::unified(&old_text, &new_text, 3, true, Some(Instant::now() + PATIENCE));
    let (before, after) = (header(old.is_some(), 'a'), header(new.is_some(), 'b'));
    let unified = if hunks.is_empty() { hunks } else { format!("--- {before}\n+++ {after}\n{hunks}") };
    let shown: Vec<&str> = unified.lines().take(MOST_LINES).collect();
    let left = unified.lines().count() - shown.len();
    text.push_str(&made_visible(&shown.join("\n")));
    text.push('\n');
    if left > 0 {
        text.push_str(&format!("  [{left} more lines]\n"));
    }
    if is_cut {
        text.push_str(&format!("  [only the first {} of each side were compared]\n", size::text(LONGEST)));
    }
    Ok(text)
}

#[derive(Default)]
struct Side {
    text: String,
    is_cut: bool,
}

/// `None` if it is not text.
fn read(root: &OwnedFd, path: &Path, facts: &Facts) -> io::Result<Option<Side>> {
    let Some((directory, name)) = parent_of(root.as_fd(), path) else { return Ok(Some(Side::default())) };
    let mut bytes = Vec::new();
    File::from(open_file(&directory, &name)?).take(LONGEST).read_to_end(&mut bytes)?;
    if bytes.iter().take(SNIFFED).any(|byte| *byte == 0) {
        return Ok(None);
    }
    Ok(Some(Side { text: String::from_utf8_lossy(&bytes).into_owned(), is_cut: facts.size > LONGEST }))
}
