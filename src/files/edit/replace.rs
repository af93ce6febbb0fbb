//! Where a replacement goes and what it changes there. Pure: text in, splices out. Everything outside the splices stays as
//! it is, byte for byte.
//!
//! An exact match is replaced by the new text. Without an exact match, differences in style are ignored, one step of the
//! [`LADDER`] after the other, and a match is used only if it is the only one. The most similar place is never taken. The new
//! text is then written in the style of the file, line by line, and lines that the edit does not change are not touched.

use std::ops::Range;

use memchr::memmem;

use super::candidate::candidates;
use super::difference::Difference;
use super::file_style;
use super::normalise::Rules;
use super::splice::Splice;

/// What to replace, and by what.
#[derive(Clone, Copy, Debug)]
pub struct ReplaceRequest<'a> {
    pub old: &'a str,
    pub new: &'a str,
    pub all: bool,
}

/// An edit that can be made.
#[derive(Debug, Eq, PartialEq)]
pub struct Plan {
    /// In order, without overlap.
    pub splices: Vec<Splice>,
    pub count: usize,
    /// From the first matched byte to the last.
    pub matched: Range<usize>,
    pub fit: Fit,
}

/// How well the agent's text fits the file.
#[derive(Debug, Eq, PartialEq)]
pub enum Fit {
    Exact,
    /// The old text matches exactly; the new lines were given the file's CRLF.
    ExactWithCrlf,
    /// The old text matches once these differences are ignored.
    Normalised(Vec<Difference>),
}

/// Why an edit cannot be made. The numbers are the offsets of the matches.
#[derive(Debug, Eq, PartialEq)]
pub enum Mismatch {
    None,
    /// Several exact matches.
    Many(Vec<usize>),
    /// Several matches once these differences are ignored.
    ManyNormalised(Vec<usize>, &'static [Difference]),
}

pub fn plan(text: &[u8], request: &ReplaceRequest<'_>) -> Result<Plan, Mismatch> {
    let starts: Vec<usize> = memmem::find_iter(text, request.old).collect();
    match starts[..] {
        [] => plan_normalised(text, request),
        [_, _, ..] if !request.all => Err(Mismatch::Many(starts)),
        [first, ..] => {
            let last = starts[starts.len() - 1] + request.old.len();
            let (new, fit) = if wants_crlf(text, request) {
                (request.new.replace('\n', "\r\n"), Fit::ExactWithCrlf)
            } else {
                (request.new.to_owned(), Fit::Exact)
            };
            let splice =
                |start: &usize| Splice { range: *start..start + request.old.len(), text: new.clone().into_bytes() };
            let splices = starts.iter().map(splice).collect();
            Ok(Plan { splices, count: starts.len(), matched: first..last, fit })
        }
    }
}

/// Models write `\n`. Where several new lines replace a part of one line, and every line of the file ends in `\r\n`, the new
/// lines get `\r\n` too.
fn wants_crlf(text: &[u8], request: &ReplaceRequest<'_>) -> bool {
    let undecided = !request.old.contains(['\n', '\r']) && request.new.contains('\n') && !request.new.contains('\r');
    if !undecided || memchr::memchr(b'\r', text).is_none() {
        return false;
    }
    let crlf = memmem::find_iter(text, b"\r\n").count();
    crlf > 0 && crlf == memchr::memchr_iter(b'\n', text).count()
}

/// The differences that each step ignores, from the most harmless on. Line endings are ignored at every step, and trailing
/// blanks from the second step on.
const LADDER: [(&[Difference], Rules); 5] = [
    (&[Difference::LineEndings], Rules { trailing_blanks: false, indentation: false, punctuation: false }),
    (&[Difference::TrailingBlanks], Rules { trailing_blanks: true, indentation: false, punctuation: false }),
    (&[Difference::Indentation], Rules { trailing_blanks: true, indentation: true, punctuation: false }),
    (&[Difference::Punctuation], Rules { trailing_blanks: true, indentation: false, punctuation: true }),
    (
        &[Difference::Indentation, Difference::Punctuation],
        Rules { trailing_blanks: true, indentation: true, punctuation: true },
    ),
];

fn plan_normalised(text: &[u8], request: &ReplaceRequest<'_>) -> Result<Plan, Mismatch> {
    for (differences, rules) in LADDER {
        let found = candidates(text, request.old, rules);
        match &found[..] {
            [] => {}
            [only] => return Ok(file_style::plan(text, request, only)),
            many => {
                let starts = many.iter().map(|candidate| candidate.range.start).collect();
                return Err(Mismatch::ManyNormalised(starts, differences));
            }
        }
    }
    Err(Mismatch::None)
}

#[cfg(test)]
#[path = "replace_tests.rs"]
mod tests;
