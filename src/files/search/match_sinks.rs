//! What a search keeps of a file: the number of matches ([`Count`]), or the matching lines of one page ([`Collect`]). A sink
//! is what ripgrep's searcher reports matches to.

use std::io::{self, Read};

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkFinish, SinkMatch};

use crate::files::Interrupt;

/// How many characters of a line are shown, around the match.
const LONGEST_LINE: usize = 500;

/// Counts the matches of a file, and notices whether it is binary.
#[derive(Debug, Default)]
pub struct Count {
    pub matches: usize,
    pub binary: bool,
}

impl Sink for Count {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, _: &SinkMatch<'_>) -> io::Result<bool> {
        self.matches += 1;
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> io::Result<()> {
        self.binary = finish.binary_byte_offset().is_some();
        Ok(())
    }
}

/// One line of a file's results.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ResultLine {
    Match {
        number: u64,
        text: String,
    },
    Context {
        number: u64,
        text: String,
    },
    /// Lines that are not shown.
    Gap,
}

/// Collects the matching lines of a page, with the lines around them.
pub struct Collect<'a> {
    pub matcher: &'a RegexMatcher,
    /// How many matches belong to an earlier page.
    pub skip: usize,
    /// How many matches belong to this page.
    pub take: usize,
    pub lines: Vec<ResultLine>,
}

impl Sink for Collect<'_> {
    type Error = io::Error;

    fn matched(&mut self, searcher: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if self.skip > 0 {
            self.skip -= 1;
            self.lines.clear();
            return Ok(true);
        }
        if self.take == 0 {
            return Ok(false);
        }
        self.take -= 1;
        let first = found.line_number().unwrap_or(0);
        let terminator = searcher.line_terminator().as_byte();
        let at = self.matcher.find(found.bytes()).ok().flatten().map_or(0, |at| at.start());
        let mut offset = 0;
        for (number, line) in (first..).zip(found.bytes().split_inclusive(|byte| *byte == terminator)) {
            self.lines.push(ResultLine::Match { number, text: clip(line, at.saturating_sub(offset)) });
            offset += line.len();
        }
        // The lines after the last match of the page are still its context.
        Ok(self.take > 0 || searcher.after_context() > 0)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        if self.skip == 0 {
            let number = context.line_number().unwrap_or(0);
            self.lines.push(ResultLine::Context { number, text: clip(context.bytes(), 0) });
        }
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        if !self.lines.is_empty() {
            self.lines.push(ResultLine::Gap);
        }
        Ok(self.take > 0)
    }
}

/// The line without its ending. Of a long line, only the part around the byte `at`.
pub fn clip(line: &[u8], at: usize) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let text = String::from_utf8_lossy(line);
    let count = text.chars().count();
    if count <= LONGEST_LINE {
        return text.into_owned();
    }
    let before = String::from_utf8_lossy(&line[..at.min(line.len())]).chars().count();
    // Two characters are needed for the ellipses.
    let room = LONGEST_LINE - 2;
    let start = before.saturating_sub(room / 3).min(count - room);
    let part: String = text.chars().skip(start).take(room).collect();
    format!("{}{part}{}", if start > 0 { "…" } else { "" }, if start + room < count { "…" } else { "" })
}

/// A reader that fails once the search is interrupted, so that a huge file cannot outlast the time a search has.
pub struct Interruptible<'a, R> {
    pub inner: R,
    pub interrupt: &'a Interrupt,
}

impl<R: Read> Read for Interruptible<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.interrupt.is_due() {
            return Err(io::Error::other("interrupted"));
        }
        self.inner.read(buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_cut_around_the_match() {
        let line = "a".repeat(1_000) + "needle" + &"b".repeat(1_000);
        let text = clip(line.as_bytes(), 1_000);
        assert_eq!(text.chars().count(), 500);
        assert!(text.starts_with('…') && text.ends_with('…') && text.contains("aneedleb"), "{text}");
        assert_eq!(clip(b"short\r\n", 0), "short");
        let tail = clip(("é".repeat(2_000) + "x").as_bytes(), 4_000);
        assert!(tail.ends_with('x') && tail.starts_with('…'), "{tail}");
    }
}
