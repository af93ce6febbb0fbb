//! A replacement in the style of the file: its line endings, indentation and punctuation.

use std::ops::Range;

use super::candidate::Candidate;
use super::difference::Difference;
use super::lines::{body, ending_of, first_ending, indent_of, split};
use super::punctuation::FileForms;
use super::replace::{Fit, Plan, ReplaceRequest};
use super::splice::{Changes, Splice};
use crate::base::line_diff;

/// How many lines of the old and the new text are compared. The time for it grows with the square of their number.
const MOST_COMPARED: usize = 4_000;

/// Turns the lines that differ between the old and the new text into splices. The other lines stay as the file has them. If
/// there are too many lines to compare, all of them count as changed.
pub fn plan<'a>(text: &[u8], request: &ReplaceRequest<'a>, found: &Candidate) -> Plan<'a> {
    let matched = &text[found.range.clone()];
    let style = FileStyle {
        ending: first_ending(split(matched).chain(split(text))),
        found,
        forms: FileForms::of(request.old, &String::from_utf8_lossy(matched)),
    };
    let count = split(request.old.as_bytes()).count() + split(request.new.as_bytes()).count();
    let splices = if count > MOST_COMPARED {
        let lines = split(request.new.as_bytes()).enumerate();
        vec![Splice { range: found.range.clone(), text: style.lines(lines) }]
    } else {
        let mut offsets = vec![found.range.start];
        offsets.extend(split(matched).scan(found.range.start, |at, line| {
            *at += line.len();
            Some(*at)
        }));
        let splice = |(old, new): (Range<usize>, Range<usize>)| {
            let lines = split(request.new.as_bytes()).enumerate().skip(new.start).take(new.len());
            Splice { range: offsets[old.start]..offsets[old.end], text: style.lines(lines) }
        };
        changed_lines(request).into_iter().map(splice).collect()
    };
    let fit = Fit::Normalised(differences(request.old, matched, found));
    Plan { changes: Changes::Few(splices), count: 1, matched: found.range.clone(), fit }
}

/// The lines of the old text that change, each range with the lines of the new text that take its place.
fn changed_lines(request: &ReplaceRequest<'_>) -> Vec<(Range<usize>, Range<usize>)> {
    line_diff::changes(split(request.old.as_bytes()), split(request.new.as_bytes()), None)
}

/// The differences between the agent's lines and the file's.
fn differences(old: &str, file: &[u8], found: &Candidate) -> Vec<Difference> {
    let ignored = |difference: &Difference| *difference != Difference::Indentation || found.indents.is_some();
    let differs =
        |difference: &Difference| split(old.as_bytes()).zip(split(file)).any(|(a, b)| difference.is_between(a, b));
    Difference::ALL.into_iter().filter(|difference| ignored(difference) && differs(difference)).collect()
}

/// How the file writes what the agent wrote in another style.
struct FileStyle<'a> {
    ending: &'a [u8],
    found: &'a Candidate,
    forms: FileForms,
}

impl FileStyle<'_> {
    /// Lines of the new text with their positions in it, written in the style of the file.
    fn lines<'l>(&self, lines: impl Iterator<Item = (usize, &'l [u8])>) -> Vec<u8> {
        let mut text = Vec::new();
        lines.for_each(|(index, line)| self.write(line, index, &mut text));
        text
    }

    fn write(&self, line: &[u8], index: usize, out: &mut Vec<u8>) {
        let text = String::from_utf8_lossy(body(line));
        let indent = indent_of(text.as_bytes());
        let (indent, rest) = text.split_at(indent);
        let indent = match &self.found.indents {
            // An empty line needs no indentation, and blanks in the middle of a line are not indentation.
            Some(indents) if !rest.is_empty() && (index > 0 || self.found.from_line_start) => indents.apply(indent),
            _ => indent.to_owned(),
        };
        out.extend_from_slice(indent.as_bytes());
        out.extend_from_slice(self.forms.apply(rest).as_bytes());
        if !ending_of(line).is_empty() {
            out.extend_from_slice(self.ending);
        }
    }
}
