//! Where a replacement goes and what it changes there. Pure: text in, splices out. Everything outside the splices stays as
//! it is, byte for byte.
//!
//! An exact match is replaced by the new text. Without an exact match, differences in style are ignored, one step of the
//! [`LADDER`] after the other, and a match is used only if it is the only one. The most similar place is never taken. The new
//! text is then written in the style of the file, line by line, and lines that the edit does not change are not touched.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memmem;

use super::candidate::candidates;
use super::difference::Difference;
use super::file_style;
use super::normalise::Rules;
use super::places::Places;
use super::punctuation;
use super::splice::Changes;
use crate::files::Interrupt;

/// What to replace, and by what.
#[derive(Clone, Copy, Debug)]
pub struct ReplaceRequest<'a> {
    pub old: &'a str,
    pub new: &'a str,
    pub all: bool,
}

/// An edit that can be made.
#[derive(Debug, Eq, PartialEq)]
pub struct Plan<'a> {
    pub changes: Changes<'a>,
    pub count: usize,
    /// The first match.
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

/// Why an edit cannot be made.
#[derive(Debug, Eq, PartialEq)]
pub enum Mismatch {
    None,
    /// Several exact matches.
    Many(Places),
    /// Several matches once these differences are ignored.
    ManyNormalised(Places, &'static [Difference]),
    /// The client cancelled the call.
    Interrupted,
}

pub fn plan<'a>(text: &[u8], request: &ReplaceRequest<'a>, interrupt: &Interrupt) -> Result<Plan<'a>, Mismatch> {
    let places: Places = memmem::find_iter(text, request.old).collect();
    let Some(first) = places.first.first().copied() else { return plan_normalised(text, request, interrupt) };
    if places.count > 1 && !request.all {
        return Err(Mismatch::Many(places));
    }
    let (new, fit) = if wants_crlf(text, request) {
        (Cow::Owned(request.new.replace('\n', "\r\n")), Fit::ExactWithCrlf)
    } else {
        (Cow::Borrowed(request.new), Fit::Exact)
    };
    let changes = Changes::Every { old: request.old, new, count: places.count };
    Ok(Plan { changes, count: places.count, matched: first..first + request.old.len(), fit })
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

fn plan_normalised<'a>(text: &[u8], request: &ReplaceRequest<'a>, interrupt: &Interrupt) -> Result<Plan<'a>, Mismatch> {
    let [returns, typographic]: [bool; 2] =
        [has_return, punctuation::may_have].map(|has| has(text) || has(request.old.as_bytes()));
    if !could_match(text, request.old, typographic) {
        return Err(Mismatch::None);
    }
    for (differences, rules) in LADDER {
        // What is in neither text makes no difference, and the step would find what the one before it has found.
        if (rules.punctuation && !typographic) || (rules == Rules::default() && !returns) {
            continue;
        }
        if interrupt.is_due() {
            return Err(Mismatch::Interrupted);
        }
        let (first, places) = candidates(text, request.old, rules);
        match first {
            None => {}
            Some(only) if places.count == 1 => return Ok(file_style::plan(text, request, &only)),
            Some(_) => return Err(Mismatch::ManyNormalised(places, differences)),
        }
    }
    Err(Mismatch::None)
}

/// Whether any step can find something. What matches with some differences ignored also matches with all of them ignored, so
/// one pass is enough for a text that is not in the file at all.
fn could_match(text: &[u8], old: &str, punctuation: bool) -> bool {
    let all = Rules { trailing_blanks: true, indentation: true, punctuation };
    memmem::find(&all.apply(text), &all.apply(old.as_bytes())).is_some()
}

fn has_return(text: &[u8]) -> bool {
    memchr::memchr(b'\r', text).is_some()
}

#[cfg(test)]
#[path = "replace_tests.rs"]
mod tests;
