//! The usual edit of a large file: one exact match is replaced. The file is read and copied piece by piece, so it is never in
//! memory as a whole. Every other case (no match or several, other encodings, line endings to decide on) is left to the
//! editor, which then reads the file.

use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;

use memchr::memmem;

use super::replace::ReplaceRequest;
use super::snippet::{self, CONTEXT};
use crate::files::text::Encoding;

/// How much of the file is in memory at a time.
const PIECE: usize = 1 << 19;
/// A longer text than this is left to the editor.
const LONGEST_OLD: usize = 1 << 16;
/// How much of the file around the match is read for the snippet. Where lines are too long for that, the editor does the work.
const AROUND: u64 = 1 << 15;

/// New bytes for one stretch of a file.
#[derive(Debug)]
pub struct LargeEdit {
    range: Range<u64>,
    new: Vec<u8>,
    pub snippet: String,
}

impl LargeEdit {
    /// `None` if this is not the usual case.
    pub fn plan(file: &File, size: u64, request: &ReplaceRequest<'_>) -> io::Result<Option<Self>> {
        let ReplaceRequest { old, new, all } = *request;
        let decides_on_endings = new.contains('\n') && !old.contains('\n');
        if all || decides_on_endings || old.len() > LONGEST_OLD {
            return Ok(None);
        }
        let mut head = [0; 4];
        file.read_exact_at(&mut head, 0)?;
        if Encoding::of(&head) != Encoding::Bytes {
            return Ok(None);
        }
        let Some(only) = only_match(file, old.as_bytes(), PIECE)? else { return Ok(None) };
        let range = only.start..only.start + old.len() as u64;
        let Some(snippet) = snippet_of(file, size, &only, &range, new)? else { return Ok(None) };
        Ok(Some(Self { range, new: new.as_bytes().to_owned(), snippet }))
    }

    /// How many bytes the file has afterwards.
    pub fn size_after(&self, size: u64) -> u64 {
        size - (self.range.end - self.range.start) + self.new.len() as u64
    }

    /// Writes the whole new file.
    pub fn write(&self, old: &File, new: &mut File) -> io::Result<()> {
        copy(old, 0..self.range.start, new)?;
        new.write_all(&self.new)?;
        copy(old, self.range.end..u64::MAX, new)
    }
}

/// A match that is the only one, and how many lines end before it.
#[derive(Debug, Eq, PartialEq)]
struct Only {
    start: u64,
    lines_before: u64,
}

fn only_match(file: &File, old: &[u8], piece: usize) -> io::Result<Option<Only>> {
    let finder = memmem::Finder::new(old);
    let mut buffer = vec![0; piece.max(2 * old.len())];
    // The buffer holds the file from `at` on.
    let (mut at, mut filled, mut lines, mut found) = (0, 0, 0, None);
    loop {
        let count = read_at(file, &mut buffer[filled..], at + filled as u64)?;
        filled += count;
        let held = &buffer[..filled];
        let mut searched = 0;
        while let Some(offset) = finder.find(&held[searched..]) {
            if found.is_some() {
                return Ok(None);
            }
            let start = searched + offset;
            found = Some(Only { start: at + start as u64, lines_before: lines + line_ends(&held[..start]) });
            searched = start + old.len();
        }
        if count == 0 {
            return Ok(found);
        }
        // What may be the beginning of a match stays.
        let done = searched.max(filled.saturating_sub(old.len() - 1));
        if found.is_none() {
            lines += line_ends(&held[..done]);
        }
        buffer.copy_within(done..filled, 0);
        (at, filled) = (at + done as u64, filled - done);
    }
}

/// `None` if the lines around the match are very long.
fn snippet_of(file: &File, size: u64, only: &Only, range: &Range<u64>, new: &str) -> io::Result<Option<String>> {
    let (begin, end) = (range.start.saturating_sub(AROUND), range.end.saturating_add(AROUND).min(size));
    let length = |range: Range<u64>| usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
    let mut text = vec![0; length(begin..end)];
    file.read_exact_at(&mut text, begin)?;
    let (at, until) = (length(begin..range.start), length(begin..range.end));
    let before = line_ends(&text[..at]);
    let enough_before = begin == 0 || before > CONTEXT as u64;
    let enough_after = end == size || line_ends(&text[until..]) > CONTEXT as u64;
    if !enough_before || !enough_after {
        return Ok(None);
    }
    text.splice(at..until, new.bytes());
    Ok(Some(snippet::around_in(&text, &(at..at + new.len()), only.lines_before - before)))
}

/// Copies a stretch, or as much of it as there is: a file that has become shorter is noticed before the new one is put in
/// place.
fn copy(from: &File, range: Range<u64>, to: &mut File) -> io::Result<()> {
    let (mut at, mut buffer) = (range.start, vec![0; PIECE]);
    while at < range.end {
        let wanted = usize::try_from(range.end - at).unwrap_or(PIECE).min(PIECE);
        let count = read_at(from, &mut buffer[..wanted], at)?;
        if count == 0 {
            break;
        }
        to.write_all(&buffer[..count])?;
        at += count as u64;
    }
    Ok(())
}

fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    loop {
        match file.read_at(buffer, at) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

fn line_ends(text: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', text).count() as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::replace;
    use super::*;
    use crate::files::Interrupt;

    fn file_of(text: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text).unwrap();
        file
    }

    proptest! {
        /// Where the pieces are cut makes no difference.
        #[test]
        fn the_only_match_is_that_of_the_whole_text(text in "[ab\n]{0,60}", old in "[ab\n]{1,4}", piece in 1_usize..9) {
            let mut found = memmem::find_iter(text.as_bytes(), old.as_bytes());
            let expected = found.next().filter(|_| found.next().is_none()).map(|start| Only {
                start: start as u64,
                lines_before: line_ends(&text.as_bytes()[..start]),
            });
            prop_assert_eq!(only_match(&file_of(text.as_bytes()), old.as_bytes(), piece).unwrap(), expected);
        }
    }

    /// The same file and the same snippet as the editor makes that has the whole file in memory.
    #[test]
    fn it_comes_to_the_same_as_an_edit_in_memory() {
        let line = "a line of text\n";
        let many = line.repeat(100_000);
        let short = line.repeat(2);
        for (before, after) in [(&many, &many), (&many, &short), (&short, &many), (&many, &String::new())] {
            for new in ["", "other", "other words\nin two lines"] {
                let text = format!("{before}the needle\n{after}");
                let request = ReplaceRequest { old: "needle\n", new, all: false };
                let (file, size) = (file_of(text.as_bytes()), text.len() as u64);
                let edit = LargeEdit::plan(&file, size, &request).unwrap().unwrap();
                let mut written = tempfile::tempfile().unwrap();
                edit.write(&file, &mut written).unwrap();
                let plan = replace::plan(text.as_bytes(), &request, &Interrupt::never()).unwrap();
                let mut content = text.into_bytes();
                let changed = plan.changes.make(&mut content, 0).unwrap();
                let mut got = vec![0; content.len() + 1];
                let count = written.read_at(&mut got, 0).unwrap();
                assert!(got[..count] == content, "{new:?}");
                assert_eq!(edit.size_after(size), content.len() as u64);
                assert_eq!(edit.snippet, snippet::around(&content, &changed), "{new:?}");
            }
        }
    }

    #[test]
    fn everything_unusual_is_left_to_the_editor() {
        let line = "a line of text\n".repeat(10_000);
        let long = "x".repeat(100_000);
        for (text, old, new) in [
            (format!("{line}needle needle\n{line}"), "needle", "x"),
            (line.clone(), "needle", "x"),
            (format!("{line}needle\r\n{line}"), "needle", "two\nlines"),
            (format!("\u{feff}{line}needle\n"), "needle", "x"),
            (format!("{line}{long}needle{long}\n{line}"), "needle", "x"),
        ] {
            let request = ReplaceRequest { old, new, all: false };
            let plan = LargeEdit::plan(&file_of(text.as_bytes()), text.len() as u64, &request).unwrap();
            assert!(plan.is_none(), "{:?}", &text[text.len() - 20..]);
        }
    }
}
