//! Where an edit goes and what it changes there. Pure: text in, splices out; everything outside the splices stays as it
//! is, byte for byte.
//!
//! An exact match is taken as it is. Without one, differences that do not matter are left out of account, one rule after
//! the other, and a match counts only if it is the single one: never the most similar place. What is then written is in
//! the file's own style, line by line: lines that the edit does not change are not touched.

use std::ops::Range;

use memchr::memmem;
use similar::{Algorithm, DiffTag};

use super::indent::Indents;
use super::normalise::{Blanks, Rules, ending_of, indent_of, is_blank, split};
use super::punctuation;

/// What is to be replaced by what.
#[derive(Clone, Copy, Debug)]
pub struct ReplaceRequest<'a> {
    pub old: &'a str,
    pub new: &'a str,
    pub all: bool,
}

/// New bytes for a stretch of the text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Splice {
    pub range: Range<usize>,
    pub text: Vec<u8>,
}

/// An edit that fits.
#[derive(Debug, Eq, PartialEq)]
pub struct Plan {
    /// In order, without overlap.
    pub splices: Vec<Splice>,
    pub count: usize,
    /// The text that matched, from its first byte to its last.
    pub matched: Range<usize>,
    /// What was left out of account to find it.
    pub normalised: Vec<&'static str>,
}

/// An edit that does not fit.
#[derive(Debug, Eq, PartialEq)]
pub enum Mismatch {
    None,
    /// Exact matches, where they start.
    Many(Vec<usize>),
    /// Several places match once something is left out of account.
    ManyNormalised(Vec<usize>, &'static str),
}

pub fn plan(text: &[u8], request: &ReplaceRequest<'_>) -> Result<Plan, Mismatch> {
    let starts: Vec<usize> = memmem::find_iter(text, request.old).collect();
    match starts[..] {
        [] => normalised(text, request),
        [_, _, ..] if !request.all => Err(Mismatch::Many(starts)),
        [first, ..] => {
            let last = starts[starts.len() - 1] + request.old.len();
            let (new, converted) = with_files_endings(text, request);
            let splice = |start: &usize| Splice { range: *start..start + request.old.len(), text: new.clone() };
            Ok(Plan {
                splices: starts.iter().map(splice).collect(),
                count: starts.len(),
                matched: first..last,
                normalised: if converted { vec!["line endings of new_str"] } else { Vec::new() },
            })
        }
    }
}

/// Models write `\n`. In a file that has only `\r\n`, several new lines in place of a part of one follow the file.
fn with_files_endings(text: &[u8], request: &ReplaceRequest<'_>) -> (Vec<u8>, bool) {
    let new = request.new.as_bytes().to_owned();
    let undecided = !request.old.contains(['\n', '\r']) && request.new.contains('\n') && !request.new.contains('\r');
    if !undecided || memchr::memchr(b'\r', text).is_none() {
        return (new, false);
    }
    let crlf = memmem::find_iter(text, b"\r\n").count();
    if crlf == 0 || crlf != memchr::memchr_iter(b'\n', text).count() {
        return (new, false);
    }
    (request.new.replace('\n', "\r\n").into_bytes(), true)
}

/// Each step of the ladder and its name.
const LADDER: [(&str, Rules); 5] = [
    ("line endings", Rules { trailing_blanks: false, indentation: false, punctuation: false }),
    ("trailing blanks", Rules { trailing_blanks: true, indentation: false, punctuation: false }),
    ("indentation", Rules { trailing_blanks: true, indentation: true, punctuation: false }),
    ("typographic punctuation", Rules { trailing_blanks: true, indentation: false, punctuation: true }),
    ("indentation and typographic punctuation", Rules { trailing_blanks: true, indentation: true, punctuation: true }),
];

fn normalised(text: &[u8], request: &ReplaceRequest<'_>) -> Result<Plan, Mismatch> {
    for (name, rules) in LADDER {
        let found = candidates(text, request.old, rules);
        match &found[..] {
            [] => {}
            [only] => return Ok(in_files_style(text, request, only)),
            many => return Err(Mismatch::ManyNormalised(many.iter().map(|one| one.range.start).collect(), name)),
        }
    }
    Err(Mismatch::None)
}

/// A place that matches once something is left out of account.
struct Candidate {
    range: Range<usize>,
    /// Present when indentation was left out of account.
    indents: Option<Indents>,
    /// Whether the match begins with the first line's indentation.
    from_line_start: bool,
}

fn candidates(text: &[u8], old: &str, rules: Rules) -> Vec<Candidate> {
    let wanted = rules.apply(old.as_bytes());
    let last = split(old.as_bytes()).last().unwrap_or_default();
    // Nothing but blanks after the last ending could be the indentation of a line that goes on.
    let dangling = old.contains('\n') && ending_of(last).is_empty() && last.iter().all(|byte| is_blank(*byte));
    if wanted.is_empty() || (rules.trailing_blanks && dangling) {
        return Vec::new();
    }
    let whole = rules.apply(text);
    memmem::find_iter(&whole, &wanted)
        .filter(|start| {
            let end = start + wanted.len();
            // Blanks that were left out at the end of old_str mean that the line ends there.
            let cut = rules.trailing_blanks && ending_of(last).is_empty() && last.last().is_some_and(|b| is_blank(*b));
            let starts_indented = rules.indentation && old.starts_with([' ', '\t']);
            (!cut || whole.get(end).is_none_or(|byte| *byte == b'\n'))
                && (!starts_indented || *start == 0 || whole[start - 1] == b'\n')
        })
        .filter_map(|start| candidate(text, old, rules, &(start..start + wanted.len())))
        .collect()
}

fn candidate(text: &[u8], old: &str, rules: Rules, normalised: &Range<usize>) -> Option<Candidate> {
    let mut range = rules.source(text, normalised)?;
    if !rules.indentation {
        return Some(Candidate { range, indents: None, from_line_start: false });
    }
    let blanks = text[..range.start].iter().rev().take_while(|byte| is_blank(**byte)).count();
    let before = range.start - blanks;
    let from_line_start = before == 0 || matches!(text[before - 1], b'\n' | b'\r');
    if from_line_start {
        range.start = before;
    }
    let pairs: Vec<(&str, &str)> = split(old.as_bytes())
        .zip(split(&text[range.clone()]))
        .skip(usize::from(!from_line_start))
        .filter(|(line, _)| !line.trim_ascii().is_empty())
        .filter_map(|(written, found)| Some((indentation(written)?, indentation(found)?)))
        .collect();
    let indents = Indents::new(&pairs, old, text)?;
    Some(Candidate { range, indents: Some(indents), from_line_start })
}

fn indentation(line: &[u8]) -> Option<&str> {
    std::str::from_utf8(&line[..indent_of(line)]).ok()
}

/// Turns the lines that differ between old and new into splices; the others stay as the file has them.
fn in_files_style(text: &[u8], request: &ReplaceRequest<'_>, found: &Candidate) -> Plan {
    let old: Vec<&[u8]> = split(request.old.as_bytes()).collect();
    let new: Vec<&[u8]> = split(request.new.as_bytes()).collect();
    let file: Vec<&[u8]> = split(&text[found.range.clone()]).collect();
    let mut offsets = vec![found.range.start];
    offsets.extend(file.iter().scan(found.range.start, |at, line| {
        *at += line.len();
        Some(*at)
    }));
    let style = Style::new(text, request, found, &old, &file);
    let splices = similar::capture_diff_slices(Algorithm::Myers, &old, &new)
        .iter()
        .filter(|op| op.tag() != DiffTag::Equal)
        .map(|op| {
            let (from, to) = (op.old_range(), op.new_range());
            let lines = to.map(|index| style.line(new[index], index));
            Splice { range: offsets[from.start]..offsets[from.end], text: lines.collect::<Vec<_>>().concat() }
        })
        .collect();
    Plan { splices, count: 1, matched: found.range.clone(), normalised: style.differences }
}

fn body(line: &[u8]) -> &[u8] {
    &line[..line.len() - ending_of(line).len()]
}

/// What of a line is compared.
type Aspect = fn(&[u8]) -> Vec<u8>;

/// How the file writes what the agent wrote otherwise.
struct Style<'a> {
    ending: &'a [u8],
    found: &'a Candidate,
    written: &'a str,
    matched: String,
    differences: Vec<&'static str>,
}

impl<'a> Style<'a> {
    fn new(
        text: &'a [u8],
        request: &ReplaceRequest<'a>,
        found: &'a Candidate,
        old: &[&[u8]],
        file: &[&'a [u8]],
    ) -> Self {
        let endings = file.iter().copied().chain(split(text)).map(ending_of);
        let ending = endings.into_iter().find(|ending| !ending.is_empty()).unwrap_or(b"\n");
        let differs = |of: Aspect| old.iter().zip(file).any(|(a, b)| of(a) != of(b));
        let checks: [(&str, Aspect); 4] = [
            ("line endings", |line| ending_of(line).to_owned()),
            ("trailing blanks", |line| body(line)[body(line).trim_ascii_end_blanks().len()..].to_owned()),
            ("indentation", |line| line[..indent_of(line)].to_owned()),
            ("typographic punctuation", |line| {
                let marks = String::from_utf8_lossy(line)
                    .chars()
                    .filter(|c| punctuation::plain(*c).is_some())
                    .collect::<String>();
                marks.into_bytes()
            }),
        ];
        let differences = checks
            .into_iter()
            .filter(|(name, of)| (*name != "indentation" || found.indents.is_some()) && differs(*of))
            .map(|(name, _)| name)
            .collect();
        let matched = file.iter().map(|line| String::from_utf8_lossy(body(line))).collect();
        Self { ending, found, written: request.old, matched, differences }
    }

    fn line(&self, line: &[u8], index: usize) -> Vec<u8> {
        let text = String::from_utf8_lossy(body(line));
        let indent = indent_of(text.as_bytes());
        let (indent, rest) = text.split_at(indent);
        let indent = match &self.found.indents {
            // An empty line needs no indentation, and what follows the middle of a line is none.
            Some(indents) if !rest.is_empty() && (index > 0 || self.found.from_line_start) => indents.apply(indent),
            _ => indent.to_owned(),
        };
        let rest = punctuation::in_file_style(rest, self.written, &self.matched);
        let ending = if ending_of(line).is_empty() { &[] } else { self.ending };
        [indent.as_bytes(), rest.as_bytes(), ending].concat()
    }
}

#[cfg(test)]
#[path = "replace_tests.rs"]
mod tests;
