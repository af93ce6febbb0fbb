//! A range of lines out of a file of any size. The file is read once, up to the last line of the range, and memory holds
//! only the lines that are shown.

use std::io::Read;

use crate::files::text::numbered_lines::{self, Line};
use crate::files::{FileError, Interrupt};

/// How many lines are shown without a range.
const MOST_LINES: u64 = 2_000;
/// How many characters the lines of one reply have, their numbers included. The rest of the 50,000 that a reply has is for
/// the line that names how to go on.
const MOST_CHARACTERS: usize = super::MOST_CHARACTERS - 200;
const PIECE: usize = 256 * 1024;

/// The requested lines, counted from 1, both ends included. Without an end it reaches to the last line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct LineRange {
    start: u64,
    end: Option<u64>,
}

impl LineRange {
    /// Reads `[start, end]` as an agent gives it. An end of -1 is the last line.
    pub fn parse(given: &[i64]) -> Result<Self, FileError> {
        let bad = |what: String| FileError::BadRange { what: format!("view_range: {what}") };
        let &[start, end] = given else {
            return Err(bad(format!("it must be [start, end], got {} numbers", given.len())));
        };
        let Some(first) = u64::try_from(start).ok().filter(|start| *start >= 1) else {
            return Err(bad(format!("start must be >= 1, got {start}")));
        };
        match u64::try_from(end) {
            Ok(end) if end >= first => Ok(Self { start: first, end: Some(end) }),
            _ if end == -1 => Ok(Self { start: first, end: None }),
            _ => Err(bad(format!("start {start} > end {end}"))),
        }
    }
}

/// The numbered lines of the range. If the range begins after the last line, the error says how many lines there are.
pub fn read(
    input: &mut impl Read,
    requested: &str,
    range: Option<LineRange>,
    interrupt: &Interrupt,
) -> Result<String, FileError> {
    let wanted = range.unwrap_or(LineRange { start: 1, end: Some(MOST_LINES) });
    let mut pass = Pass { wanted, passed: 0, line: None, lines: Vec::new(), characters: 0, full: false };
    let mut piece = vec![0; PIECE];
    loop {
        let count = input.read(&mut piece).map_err(|error| FileError::os("read", requested, error))?;
        if count == 0 || interrupt.is_due() {
            break;
        }
        let done = pass.take(&piece[..count]);
        // Without a range, the reply says how many lines the file has.
        if done && (range.is_some() || pass.full) {
            break;
        }
    }
    if interrupt.reason().is_some() {
        return Err(FileError::Cancelled);
    }
    pass.end();
    if range.is_some() && pass.lines.is_empty() {
        let what = format!("view_range: start {} exceeds total lines {}", wanted.start, pass.passed);
        return Err(FileError::BadRange { what });
    }
    let mut text = numbered_lines::numbered(wanted.start, &pass.lines);
    if pass.full {
        let next = wanted.start + pass.lines.len() as u64;
        let end = range.and_then(|range| range.end).map_or("-1".to_owned(), |end| end.to_string());
        text.push_str(&format!("\n[Truncated: the reply is full. Continue with view_range [{next}, {end}].]"));
    } else if range.is_none() && pass.passed > MOST_LINES {
        text.push_str(&format!(
            "\n[Truncated: file has {} lines. Use view_range to read specific sections.]",
            pass.passed
        ));
    }
    Ok(text)
}

/// One pass through the file.
struct Pass {
    wanted: LineRange,
    /// How many lines have been read to their end.
    passed: u64,
    /// The current line, if any byte of it has been read.
    line: Option<Line>,
    lines: Vec<String>,
    /// How many characters the lines have, without their numbers.
    characters: usize,
    /// Whether a line was left out because the reply is full.
    full: bool,
}

impl Pass {
    /// Takes the next bytes. True once every wanted line has been read.
    fn take(&mut self, mut piece: &[u8]) -> bool {
        while !piece.is_empty() {
            if self.is_outside() {
                let Some(rest) = self.skip(piece) else { return self.is_done() };
                piece = rest;
                continue;
            }
            let end = memchr::memchr(b'\n', piece);
            let line = self.line.get_or_insert_default();
            line.push(&piece[..end.unwrap_or(piece.len())]);
            let Some(end) = end else { return false };
            self.end_line();
            piece = &piece[end + 1..];
        }
        self.is_done()
    }

    /// Counts lines outside the range. Returns the rest of the piece from where the range begins.
    fn skip<'a>(&mut self, piece: &'a [u8]) -> Option<&'a [u8]> {
        let before = self.wanted.start.saturating_sub(self.passed + 1);
        // Counting newlines is much faster than finding each of them, so only the piece in which the range begins is looked
        // at more closely.
        let count = memchr::memchr_iter(b'\n', piece).count() as u64;
        if self.is_done() || count < before {
            self.passed += count;
            self.line = (piece.last() != Some(&b'\n')).then(Line::default);
            return None;
        }
        let nth = usize::try_from(before - 1).unwrap_or(usize::MAX);
        let end = memchr::memchr_iter(b'\n', piece).nth(nth)?;
        self.passed += before;
        self.line = None;
        Some(&piece[end + 1..])
    }

    fn is_outside(&self) -> bool {
        self.passed + 1 < self.wanted.start || self.is_done()
    }

    fn is_done(&self) -> bool {
        self.full || self.wanted.end.is_some_and(|end| self.passed >= end)
    }

    fn end_line(&mut self) {
        let line = self.line.take().unwrap_or_default().finish();
        self.passed += 1;
        self.characters += line.chars().count();
        // All numbers are as wide as the last one. A tab and a line ending come with each.
        let around = self.passed.to_string().len() + 2;
        self.full = self.characters + around * (self.lines.len() + 1) > MOST_CHARACTERS;
        if !self.full {
            self.lines.push(line);
        }
    }

    /// Ends the last line, which need not have a line ending.
    fn end(&mut self) {
        if self.line.is_some() {
            if self.is_outside() { self.passed += 1 } else { self.end_line() }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn view(content: &[u8], range: Option<[i64; 2]>) -> Result<String, String> {
        let range = range.map(|given| LineRange::parse(&given)).transpose().map_err(|error| error.to_string())?;
        read(&mut &content[..], "f", range, &Interrupt::never()).map_err(|error| error.to_string())
    }

    #[test]
    fn ranges_are_clamped_at_the_end_and_checked_at_the_start() {
        let rows: [(&str, [i64; 2], Result<&str, &str>); 9] = [
            ("a\nb\nc\n", [1, 2], Ok("1\ta\n2\tb\n")),
            ("a\nb\nc\n", [2, -1], Ok("2\tb\n3\tc\n")),
            ("a\nb\nc", [3, 99], Ok("3\tc\n")),
            ("a\r\nb\r\n", [1, 9], Ok("1\ta\n2\tb\n")),
            ("\n\nx", [1, 9], Ok("1\t\n2\t\n3\tx\n")),
            ("a\n", [2, 3], Err("invalid view_range: start 2 exceeds total lines 1")),
            ("", [1, 3], Err("invalid view_range: start 1 exceeds total lines 0")),
            ("a\n", [0, 5], Err("invalid view_range: start must be >= 1, got 0")),
            ("a\n", [5, 3], Err("invalid view_range: start 5 > end 3")),
        ];
        for (content, range, want) in rows {
            let got = view(content.as_bytes(), Some(range));
            assert_eq!(got.as_deref().map_err(String::as_str), want, "{content:?} {range:?}");
        }
    }

    #[test]
    fn without_a_range_the_first_2000_lines_are_shown() {
        assert_eq!(view(b"", None).unwrap(), "");
        assert!(!view("x\n".repeat(2_000).as_bytes(), None).unwrap().contains("Truncated"));
        let text = view(("x\n".repeat(2_000) + "y").as_bytes(), None).unwrap();
        assert!(
            text.ends_with("2000\tx\n\n[Truncated: file has 2001 lines. Use view_range to read specific sections.]"),
            "{}",
            &text[text.len() - 100..]
        );
    }

    #[test]
    fn a_reply_has_at_most_50000_characters_in_whole_lines_and_names_how_to_go_on() {
        for (line, count) in [("é".repeat(100), 1_000), ("x".repeat(5_000), 60), (String::new(), 40_000)] {
            let content = (line + "\n").repeat(count);
            let (mut next, mut pages) = (1, 0);
            loop {
                let text = view(content.as_bytes(), Some([next, -1])).unwrap();
                assert!(text.chars().count() <= 50_000, "{}", text.chars().count());
                pages += 1;
                let shown = text.lines().filter(|line| line.contains('\t')).count();
                let Some((_, rest)) = text.split_once("\n\n[Truncated: the reply is full. Continue with view_range [")
                else {
                    assert_eq!(usize::try_from(next).unwrap() + shown - 1, count);
                    break;
                };
                next += i64::try_from(shown).unwrap();
                assert_eq!(rest, format!("{next}, -1].]"));
                assert!(text.chars().count() > 45_000, "{}", text.chars().count());
            }
            assert!(pages > 1);
        }
        let wide = ("x".repeat(100) + "\n").repeat(5_000);
        for (range, end) in [(None, -1), (Some([1, 3_000]), 3_000)] {
            let text = view(wide.as_bytes(), range).unwrap();
            assert!(
                text.ends_with(&format!("Continue with view_range [475, {end}].]")),
                "{}",
                &text[text.len() - 90..]
            );
        }
    }

    proptest! {
        #[test]
        fn a_window_is_what_a_plain_reader_would_cut_out(
            lines in proptest::collection::vec("[a-z]{0,5}", 0..40), start in 1i64..45, length in 0i64..45, ending: bool,
        ) {
            let mut content = lines.join("\n");
            if ending && !lines.is_empty() { content.push('\n') }
            let all: Vec<&str> = content.lines().collect();
            let end = start + length;
            let got = view(content.as_bytes(), Some([start, end]));
            let (start, end) = (usize::try_from(start).unwrap(), usize::try_from(end).unwrap());
            if start > all.len() {
                prop_assert!(got.is_err());
            } else {
                prop_assert_eq!(got.unwrap(), numbered_lines::numbered(start as u64, &all[start - 1..end.min(all.len())]));
            }
        }
    }
}
