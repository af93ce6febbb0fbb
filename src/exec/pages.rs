//! Reading a stored output again: a page, the tail, or the lines that match, at constant memory whatever its size.

use regex::bytes::Regex;

use super::Recording;
use super::clean::clean;

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
    /// Of the lines shown, in order.
    pub numbers: Vec<u64>,
    pub total_lines: u64,
    /// More lines fit the request than the budget let through.
    pub cut: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum PageError {
    #[error("failed to read the stored output: {0}")]
    Read(#[from] std::io::Error),
}

const DEFAULT_LINES: u64 = 2000;
/// Characters of a single line, so that one endless line does not take the whole page.
const LONGEST_LINE: usize = 30_000;

/// Walks over the output; what is shown is cleaned, what is stored stays as it was.
pub fn read(recording: &Recording, request: &Request) -> Result<Page, PageError> {
    let mut page = Paging::new(request, || {
        let mut total = 0;
        each_line(recording, |number, _| total = number)?;
        Ok::<_, PageError>(total)
    })?;
    each_line(recording, |number, line| page.add(number, line))?;
    Ok(page.page)
}

/// The same for text at hand, such as a terminal's screen with what scrolled off it.
pub fn page_of_text(text: &str, request: &Request) -> Page {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let Ok(mut page) = Paging::new(request, || Ok::<_, std::convert::Infallible>(lines.len() as u64));
    for (number, line) in (1..).zip(lines) {
        page.add(number, line.as_bytes());
    }
    page.page
}

/// Picks the wanted lines as they come by.
struct Paging<'a> {
    request: &'a Request,
    first: u64,
    most: u64,
    characters: usize,
    page: Page,
}

impl<'a> Paging<'a> {
    /// A tail has to know first how many lines there are.
    fn new<E>(request: &'a Request, total: impl FnOnce() -> Result<u64, E>) -> Result<Self, E> {
        let (first, most) = match request.tail {
            Some(tail) => ((total()? + 1).saturating_sub(tail).max(1), tail),
            None => (request.from_line.unwrap_or(1).max(1), request.max_lines.unwrap_or(DEFAULT_LINES)),
        };
        Ok(Self { request, first, most, characters: 0, page: Page::default() })
    }

    fn add(&mut self, number: u64, line: &[u8]) {
        self.page.total_lines = number;
        let matches = |pattern: &Regex| pattern.is_match(line.strip_suffix(b"\n").unwrap_or(line));
        if number < self.first || self.page.cut || !self.request.grep.as_ref().is_none_or(matches) {
            return;
        }
        if self.page.numbers.len() as u64 >= self.most {
            self.page.cut = self.request.max_lines.is_none();
            return;
        }
        let mut text = clean(line);
        if text.chars().count() > LONGEST_LINE {
            text = text.chars().take(LONGEST_LINE).collect::<String>() + "… [line cut]\n";
        }
        self.characters += text.chars().count();
        if self.characters > self.request.budget && !self.page.numbers.is_empty() {
            self.page.cut = true;
            return;
        }
        self.page.numbers.push(number);
        self.page.text.push_str(&text);
    }
}

/// Calls with every line and its number, the newline included where there is one. A line that does not end is given in
/// pieces of at most a megabyte, each under the number of its line.
fn each_line(recording: &Recording, mut with: impl FnMut(u64, &[u8])) -> Result<(), PageError> {
    const LONGEST_PIECE: usize = 1 << 20;
    let mut buffer = vec![0; 256 * 1024];
    let mut pending: Vec<u8> = Vec::new();
    let (mut position, mut number) = (0, 1);
    let mut skipping = false;
    loop {
        let count = recording.get().spill.read_at(position, &mut buffer)?;
        if count == 0 {
            break;
        }
        position += count as u64;
        let mut rest = &buffer[..count];
        while let Some(at) = memchr::memchr(b'\n', rest) {
            if skipping {
                skipping = false;
            } else if pending.is_empty() {
                with(number, &rest[..=at]);
            } else {
                pending.extend_from_slice(&rest[..=at]);
                with(number, &pending);
            }
            pending.clear();
            number += 1;
            rest = &rest[at + 1..];
        }
        if !skipping {
            pending.extend_from_slice(rest);
        }
        if pending.len() > LONGEST_PIECE {
            // The beginning of an endless line speaks for all of it.
            with(number, &pending);
            pending.clear();
            skipping = true;
        }
    }
    if !pending.is_empty() {
        with(number, &pending);
    }
    Ok(())
}
