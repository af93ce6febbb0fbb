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

/// Walks over the output once; what is shown is cleaned, what is stored stays as it was.
pub fn read(recording: &Recording, request: &Request) -> Result<Page, PageError> {
    let mut total: u64 = 0;
    if let Some(tail) = request.tail {
        each_line(recording, |_, _| total += 1)?;
        let from = (total + 1).saturating_sub(tail).max(1);
        return page(
            recording,
            &Request { from_line: Some(from), max_lines: Some(tail), tail: None, ..request.clone() },
        );
    }
    page(recording, request)
}

fn page(recording: &Recording, request: &Request) -> Result<Page, PageError> {
    let first = request.from_line.unwrap_or(1).max(1);
    let most = request.max_lines.unwrap_or(DEFAULT_LINES);
    let mut page = Page::default();
    let mut characters = 0;
    each_line(recording, |number, line| {
        page.total_lines = number;
        let wanted = number >= first
            && request.grep.as_ref().is_none_or(|pattern| pattern.is_match(line.strip_suffix(b"\n").unwrap_or(line)));
        if !wanted || page.cut {
            return;
        }
        if page.numbers.len() as u64 >= most {
            page.cut = request.max_lines.is_none();
            return;
        }
        let mut text = clean(line);
        if text.chars().count() > LONGEST_LINE {
            text = text.chars().take(LONGEST_LINE).collect::<String>() + "… [line cut]\n";
        }
        characters += text.chars().count();
        if characters > request.budget && !page.numbers.is_empty() {
            page.cut = true;
            return;
        }
        page.numbers.push(number);
        page.text.push_str(&text);
    })?;
    Ok(page)
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
