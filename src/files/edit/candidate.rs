use std::ops::Range;

use memchr::memmem;

use super::indent::{IndentUnits, Indents};
use super::lines::{ending_of, indent_of, is_blank, split};
use super::normalise::Rules;
use super::places::Places;

/// A place that matches the old text once differences in style are ignored.
pub struct Candidate {
    pub range: Range<usize>,
    /// Present when the indentation was ignored.
    pub indents: Option<Indents>,
    /// Whether the match begins with the indentation of its first line.
    pub from_line_start: bool,
}

/// A longer run of blanks is no indentation. Without a bound, each of a million places would be compared with it.
const LONGEST_INDENT: usize = 1_000;

/// The first place that matches under these rules, and how many there are in all.
pub fn candidates(text: &[u8], old: &str, rules: Rules) -> (Option<Candidate>, Places) {
    let (mut first, mut places) = (None, Places::default());
    let wanted = rules.apply(old.as_bytes());
    let last = split(old.as_bytes()).last().unwrap_or_default();
    // Blanks after the last line ending of old_str may be the indentation of a line that goes on.
    let dangling = old.contains('\n') && ending_of(last).is_empty() && last.iter().all(|byte| is_blank(*byte));
    if wanted.is_empty() || (rules.trailing_blanks && dangling) {
        return (first, places);
    }
    let whole = rules.apply(text);
    // If old_str ended in blanks that were removed, the match must reach to the end of its line.
    let cut = rules.trailing_blanks && ending_of(last).is_empty() && last.last().is_some_and(|b| is_blank(*b));
    let starts_indented = rules.indentation && old.starts_with([' ', '\t']);
    let mut matches = memmem::find_iter(&whole, &wanted)
        .map(|start| start..start + wanted.len())
        .filter(|found| !cut || whole.get(found.end).is_none_or(|byte| *byte == b'\n'))
        .filter(|found| !starts_indented || found.start == 0 || whole[found.start - 1] == b'\n')
        .peekable();
    // Most steps find nothing, and then the indentation of a large text need not be worked out.
    if matches.peek().is_none() {
        return (first, places);
    }
    let Some(indented) = Indented::new(text, old, rules) else { return (first, places) };
    rules.sources(text, matches, |range| {
        if let Some(candidate) = indented.candidate(text, rules, range) {
            places.add(candidate.range.start);
            first.get_or_insert(candidate);
        }
    });
    (first, places)
}

/// The indentation of the old text, worked out once for all places that match.
struct Indented<'a> {
    /// The indentation of each line; `None` for a blank line, which has none to compare.
    lines: Vec<Option<&'a str>>,
    units: IndentUnits,
}

impl<'a> Indented<'a> {
    /// `None` if the indentation is so deep that no place is looked at.
    fn new(text: &[u8], old: &'a str, rules: Rules) -> Option<Self> {
        let units = IndentUnits::of(old, text);
        if !rules.indentation {
            return Some(Self { lines: Vec::new(), units });
        }
        let indent = |line| indentation(line).filter(|_| !line.trim_ascii().is_empty());
        let lines: Vec<Option<&str>> = split(old.as_bytes()).map(indent).collect();
        let deep = |indent: &&str| indent.len() > LONGEST_INDENT;
        (!lines.iter().flatten().any(deep)).then_some(Self { lines, units })
    }

    fn candidate(&self, text: &[u8], rules: Rules, mut range: Range<usize>) -> Option<Candidate> {
        if !rules.indentation {
            return Some(Candidate { range, indents: None, from_line_start: false });
        }
        let blanks = text[..range.start].iter().rev().take_while(|byte| is_blank(**byte)).count();
        let before = range.start - blanks;
        let from_line_start = before == 0 || matches!(text[before - 1], b'\n' | b'\r');
        if from_line_start {
            range.start = before;
        }
        let lines = self.lines.iter().zip(split(&text[range.clone()])).skip(usize::from(!from_line_start));
        let pairs = lines.filter_map(|(written, found)| Some(((*written)?, indentation(found)?)));
        let indents = Indents::new(pairs, self.units)?;
        Some(Candidate { range, indents: Some(indents), from_line_start })
    }
}

fn indentation(line: &[u8]) -> Option<&str> {
    std::str::from_utf8(&line[..indent_of(line)]).ok()
}
