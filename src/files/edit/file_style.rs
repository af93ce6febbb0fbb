//! A replacement in the style of the file: its line endings, indentation and punctuation.

use similar::{Algorithm, DiffTag};

use super::candidate::Candidate;
use super::difference::Difference;
use super::lines::{body, ending_of, first_ending, indent_of, split};
use super::punctuation;
use super::replace::{Fit, Plan, ReplaceRequest};
use super::splice::Splice;

/// Turns the lines that differ between the old and the new text into splices. The other lines stay as the file has them.
pub fn plan(text: &[u8], request: &ReplaceRequest<'_>, found: &Candidate) -> Plan {
    let old: Vec<&[u8]> = split(request.old.as_bytes()).collect();
    let new: Vec<&[u8]> = split(request.new.as_bytes()).collect();
    let file: Vec<&[u8]> = split(&text[found.range.clone()]).collect();
    let mut offsets = vec![found.range.start];
    offsets.extend(file.iter().scan(found.range.start, |at, line| {
        *at += line.len();
        Some(*at)
    }));
    let style = FileStyle {
        ending: first_ending(file.iter().copied().chain(split(text))),
        found,
        old: request.old,
        matched: file.iter().map(|line| String::from_utf8_lossy(body(line))).collect(),
    };
    let splices = similar::capture_diff_slices(Algorithm::Myers, &old, &new)
        .iter()
        .filter(|op| op.tag() != DiffTag::Equal)
        .map(|op| {
            let (from, to) = (op.old_range(), op.new_range());
            let lines = to.map(|index| style.line(new[index], index));
            Splice { range: offsets[from.start]..offsets[from.end], text: lines.collect::<Vec<_>>().concat() }
        })
        .collect();
    let fit = Fit::Normalised(differences(&old, &file, found));
    Plan { splices, count: 1, matched: found.range.clone(), fit }
}

/// The differences between the agent's lines and the file's.
fn differences(old: &[&[u8]], file: &[&[u8]], found: &Candidate) -> Vec<Difference> {
    let ignored = |difference: &Difference| *difference != Difference::Indentation || found.indents.is_some();
    let differs = |difference: &Difference| old.iter().zip(file).any(|(a, b)| difference.is_between(a, b));
    Difference::ALL.into_iter().filter(|difference| ignored(difference) && differs(difference)).collect()
}

/// How the file writes what the agent wrote in another style.
struct FileStyle<'a> {
    ending: &'a [u8],
    found: &'a Candidate,
    old: &'a str,
    /// The file's text at the place of `old`, without line endings.
    matched: String,
}

impl FileStyle<'_> {
    /// A line of the new text, written in the style of the file.
    fn line(&self, line: &[u8], index: usize) -> Vec<u8> {
        let text = String::from_utf8_lossy(body(line));
        let indent = indent_of(text.as_bytes());
        let (indent, rest) = text.split_at(indent);
        let indent = match &self.found.indents {
            // An empty line needs no indentation, and blanks in the middle of a line are not indentation.
            Some(indents) if !rest.is_empty() && (index > 0 || self.found.from_line_start) => indents.apply(indent),
            _ => indent.to_owned(),
        };
        let rest = punctuation::in_file_style(rest, self.old, &self.matched);
        let ending = if ending_of(line).is_empty() { &[] } else { self.ending };
        [indent.as_bytes(), rest.as_bytes(), ending].concat()
    }
}
