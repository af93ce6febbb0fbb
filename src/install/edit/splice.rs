//! Pieces of text and their places.

use std::ops::Range;

/// The text with one part replaced.
pub fn replace(text: &str, part: Range<usize>, new: &str) -> String {
    format!("{}{new}{}", &text[..part.start], &text[part.end..])
}

pub fn insert(text: &str, at: usize, new: &str) -> String {
    replace(text, at..at, new)
}

/// The line end that the text uses.
pub fn newline(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// Where the line of this byte begins.
pub fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

/// Where the line of this byte ends, before its line end.
pub fn line_end(text: &str, at: usize) -> usize {
    let end = text[at..].find('\n').map_or(text.len(), |newline| at + newline);
    if end > at && text[..end].ends_with('\r') { end - 1 } else { end }
}

/// Where the next line begins.
pub fn next_line(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |newline| at + newline + 1)
}

/// The blanks at the beginning of the line of this byte.
pub fn indent(text: &str, at: usize) -> &str {
    let line = &text[line_start(text, at)..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// Whether only blanks stand before this byte on its line.
pub fn is_first_on_line(text: &str, at: usize) -> bool {
    text[line_start(text, at)..at].chars().all(|c| matches!(c, ' ' | '\t'))
}

/// The first byte from here on that is no blank.
pub fn skip_blanks(text: &str, at: usize) -> usize {
    text.len() - text[at..].trim_start_matches([' ', '\t']).len()
}
