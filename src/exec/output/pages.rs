//! Reads a stored output again: a page, the tail, or the lines that match. Memory use does not depend on its size.

use std::ops::ControlFlow;

use regex::bytes::Regex;

use super::Recording;
use super::clean;

/// What part of an output is wanted. Line numbers start at 1.
#[derive(Clone, Debug, Default)]
pub struct Request {
    pub from_line: Option<u64>,
    pub max_lines: Option<u64>,
    pub tail: Option<u64>,
    pub grep: Option<Regex>,
    /// Characters that may be shown.
    pub budget: usize,
}

/// The lines that were asked for.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Page {
    pub text: String,
    /// The numbers of the lines shown, in order.
    pub numbers: Vec<u64>,
    pub total_lines: u64,
    /// The budget cut the page short: more lines fit the request.
    pub cut: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum PageError {
    #[error("failed to read the stored output: {0}")]
    Read(#[from] std::io::Error),
}

const DEFAULT_LINES: u64 = 2000;
/// Characters of one line; otherwise one endless line would fill the whole page.
const LONGEST_LINE: usize = 30_000;

/// Reads the lines that were asked for. The page is cleaned text; the stored bytes stay as they are.
pub fn read(recording: &Recording, request: &Request) -> Result<Page, PageError> {
    let mut page = Paging::new(request, total_lines(recording)?);
    each_line(recording, page.first, |number, line| page.add(number, line))?;
    Ok(page.page)
}

/// The same for text in memory, such as a terminal's screen with its scrollback.
pub fn page_of_text(text: &str, request: &Request) -> Page {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut page = Paging::new(request, lines.len() as u64);
    let first = usize::try_from(page.first).unwrap_or(usize::MAX);
    for (number, line) in (1..).zip(lines).skip(first - 1) {
        if page.add(number, line.as_bytes()).is_break() {
            break;
        }
    }
    page.page
}

/// Lines as they were printed, with their escape sequences, and how many there are. Invalid UTF-8 is replaced.
pub fn read_raw(
    recording: &Recording,
    first: u64,
    most: usize,
    longest: usize,
) -> Result<(Vec<String>, u64), PageError> {
    let mut lines = Vec::new();
    each_line(recording, first.max(1), |_, line| {
        if lines.len() >= most {
            return ControlFlow::Break(());
        }
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let mut text = String::from_utf8_lossy(&line[..line.len().min(longest)]).into_owned();
        if line.len() > longest {
            text.push('…');
        }
        lines.push(text);
        ControlFlow::Continue(())
    })?;
    Ok((lines, total_lines(recording)?))
}

/// Picks the wanted lines one by one.
struct Paging<'a> {
    request: &'a Request,
    first: u64,
    most: u64,
    characters: usize,
    page: Page,
}

impl<'a> Paging<'a> {
    fn new(request: &'a Request, total_lines: u64) -> Self {
        let (first, most) = match request.tail {
            Some(tail) => ((total_lines + 1).saturating_sub(tail).max(1), tail),
            None => (request.from_line.unwrap_or(1).max(1), request.max_lines.unwrap_or(DEFAULT_LINES)),
        };
        Self { request, first, most, characters: 0, page: Page { total_lines, ..Page::default() } }
    }

    /// Breaks once no later line can be wanted.
    fn add(&mut self, number: u64, line: &[u8]) -> ControlFlow<()> {
        let matches = |pattern: &Regex| pattern.is_match(line.strip_suffix(b"\n").unwrap_or(line));
        if !self.request.grep.as_ref().is_none_or(matches) {
            return ControlFlow::Continue(());
        }
        if self.page.numbers.len() as u64 >= self.most {
            self.page.cut = self.request.max_lines.is_none();
            return ControlFlow::Break(());
        }
        let mut text = clean(line);
        if text.chars().count() > LONGEST_LINE {
            text = text.chars().take(LONGEST_LINE).collect::<String>() + "… [line cut]\n";
        }
        self.characters += text.chars().count();
        if self.characters > self.request.budget && !self.page.numbers.is_empty() {
            self.page.cut = true;
            return ControlFlow::Break(());
        }
        self.page.numbers.push(number);
        self.page.text.push_str(&text);
        ControlFlow::Continue(())
    }
}

/// Calls `with` for every piece of the output, until it breaks.
fn each_piece(recording: &Recording, mut with: impl FnMut(&[u8]) -> ControlFlow<()>) -> Result<(), PageError> {
    let mut buffer = vec![0; 256 * 1024];
    let mut position = 0;
    loop {
        let count = recording.get().spill.read_at(position, &mut buffer)?;
        if count == 0 || with(&buffer[..count]).is_break() {
            return Ok(());
        }
        position += count as u64;
    }
}

fn total_lines(recording: &Recording) -> Result<u64, PageError> {
    let (mut newlines, mut last) = (0, b'\n');
    each_piece(recording, |piece| {
        newlines += memchr::memchr_iter(b'\n', piece).count() as u64;
        last = *piece.last().unwrap_or(&last);
        ControlFlow::Continue(())
    })?;
    Ok(newlines + u64::from(last != b'\n'))
}

/// Calls `with` for every line from the first wanted one on, with its number and its newline. A line longer than a
/// megabyte is cut to its first megabyte.
fn each_line(
    recording: &Recording,
    first: u64,
    mut with: impl FnMut(u64, &[u8]) -> ControlFlow<()>,
) -> Result<(), PageError> {
    const LONGEST_PIECE: usize = 1 << 20;
    let mut pending: Vec<u8> = Vec::new();
    let mut number = 1;
    let (mut skipping, mut done) = (false, ControlFlow::Continue(()));
    each_piece(recording, |mut rest| {
        if number < first {
            let newlines = memchr::memchr_iter(b'\n', rest).count() as u64;
            if number + newlines < first {
                number += newlines;
                return ControlFlow::Continue(());
            }
        }
        while let Some(at) = memchr::memchr(b'\n', rest) {
            pending.extend_from_slice(&rest[..=at]);
            if number >= first && !skipping {
                done = with(number, &pending);
            }
            pending.clear();
            (skipping, number, rest) = (false, number + 1, &rest[at + 1..]);
            done?;
        }
        if number >= first && !skipping {
            pending.extend_from_slice(rest);
        }
        if pending.len() > LONGEST_PIECE {
            // Only the beginning of an endless line is kept.
            done = with(number, &pending);
            pending.clear();
            skipping = true;
        }
        done
    })?;
    if done.is_continue() && !pending.is_empty() {
        let _ = with(number, &pending);
    }
    Ok(())
}
