use std::ops::Range;

use memchr::memmem;

use super::indent::Indents;
use super::lines::{ending_of, indent_of, is_blank, split};
use super::normalise::Rules;

/// A place that matches the old text once differences in style are ignored.
pub struct Candidate {
    pub range: Range<usize>,
    /// Present when the indentation was ignored.
    pub indents: Option<Indents>,
    /// Whether the match begins with the indentation of its first line.
    pub from_line_start: bool,
}

/// Every place that matches under these rules.
pub fn candidates(text: &[u8], old: &str, rules: Rules) -> Vec<Candidate> {
    let wanted = rules.apply(old.as_bytes());
    let last = split(old.as_bytes()).last().unwrap_or_default();
    // Blanks after the last line ending of old_str may be the indentation of a line that goes on.
    let dangling = old.contains('\n') && ending_of(last).is_empty() && last.iter().all(|byte| is_blank(*byte));
    if wanted.is_empty() || (rules.trailing_blanks && dangling) {
        return Vec::new();
    }
    let whole = rules.apply(text);
    memmem::find_iter(&whole, &wanted)
        .filter(|start| {
            let end = start + wanted.len();
            // If old_str ended in blanks that were removed, the match must reach to the end of its line.
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
