//! Why a text was not found: the region that comes nearest, the first line that differs, and how. Pure, and only for
//! words: nothing is ever replaced because it is similar.

use std::collections::HashMap;

use super::normalise::{Blanks, ending_of, indent_of, split};
use super::punctuation;
use super::replace::ReplaceRequest;
use crate::files::text::numbered_lines::{self, numbered};

/// Lines of the region that are shown.
const MOST_SHOWN: usize = 12;
/// Lines that are compared one by one when none is the same in other words.
const MOST_COMPARED: usize = 20_000;
const SIMILAR: f64 = 0.5;
/// A line of fewer characters, such as a brace, stands everywhere.
const TELLING: usize = 3;

/// What an agent needs to get the edit right, a line or a block each.
pub fn diagnose(text: &[u8], request: &ReplaceRequest<'_>) -> Vec<String> {
    let mut found = Vec::new();
    let file: Vec<&[u8]> = split(text).map(body).collect();
    let old: Vec<&[u8]> = split(request.old.as_bytes()).map(body).collect();
    if let Some(start) = region(&file, &old) {
        let end = (start + old.len()).min(file.len());
        let different = (start..end).find(|index| !fits(file[*index], &old, index - start));
        let from = different.map_or(start, |at| at.saturating_sub(MOST_SHOWN / 2).max(start));
        let shown: Vec<String> =
            file[from..end.min(from + MOST_SHOWN)].iter().map(|line| numbered_lines::shown(line)).collect();
        let block = numbered(from as u64 + 1, &shown);
        found.push(format!("The nearest text is at line {}:\n{}", start + 1, block.trim_end_matches('\n')));
        if let Some(at) = different {
            let (has, asked) = (file[at], old[at - start]);
            found.push(format!("First difference at line {}: {}.", at + 1, how(has, asked)));
            found.push(beside(has, asked));
            let bridged = |index: usize| plain(file[index].trim_ascii()) == plain(old[index - start].trim_ascii());
            let real = (at..end).find(|index| !bridged(*index) && !fits(file[*index], &old, index - start));
            if let Some(real) = real.filter(|real| *real > at && bridged(at)) {
                let (has, asked) = (file[real], old[real - start]);
                found.push(format!("That alone would have been bridged; line {} not: {}.", real + 1, how(has, asked)));
                found.push(beside(has, asked));
            }
        } else if end - start < old.len() {
            found.push(format!("The file ends at line {end}, old_str goes on: {}", visible(old[end - start])));
        }
    }
    if !request.new.is_empty()
        && let Some(at) = memchr::memmem::find(text, request.new.as_bytes())
    {
        let line = memchr::memchr_iter(b'\n', &text[..at]).count() + 1;
        found.push(format!("new_str is already in the file, at line {line}: the edit may have been made before."));
    }
    if old.iter().all(|line| line.is_empty() || has_line_number(line)) {
        found.push("old_str looks like output of view: leave the line numbers and tabs out.".to_owned());
    }
    if request.old.contains('\u{FFFD}') {
        found.push("U+FFFD stands for bytes that are no UTF-8: keep them out of old_str.".to_owned());
    }
    found
}

fn body(line: &[u8]) -> &[u8] {
    &line[..line.len() - ending_of(line).len()]
}

/// Where most lines of the old text stand, in other spelling maybe; else where its longest line has a relative.
fn region(file: &[&[u8]], old: &[&[u8]]) -> Option<usize> {
    let folded: Vec<String> = old.iter().map(|line| fold(line)).collect();
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, line) in folded.iter().enumerate().filter(|(_, line)| line.len() >= TELLING) {
        places.entry(line).or_default().push(index);
    }
    let mut votes: HashMap<usize, usize> = HashMap::new();
    for (at, line) in file.iter().enumerate() {
        let line = fold(line);
        for index in places.get(line.as_str()).into_iter().flatten() {
            if let Some(start) = at.checked_sub(*index) {
                *votes.entry(start).or_default() += line.len().min(40);
            }
        }
    }
    let best = votes.into_iter().max_by_key(|(start, votes)| (*votes, std::cmp::Reverse(*start)));
    best.map(|(start, _)| start).or_else(|| relative(file, &folded))
}

fn relative(file: &[&[u8]], old: &[String]) -> Option<usize> {
    let (index, longest) = old.iter().enumerate().max_by_key(|(_, line)| line.len())?;
    let likeness = |line: &[u8]| {
        let line = fold(line);
        let part = line.contains(longest.as_str()) && !longest.is_empty();
        if part { 1.0 } else { strsim::sorensen_dice(&line, longest) }
    };
    let rated = file.iter().take(MOST_COMPARED).enumerate().map(|(at, line)| (at, likeness(line)));
    let best =
        rated.filter(|(_, likeness)| *likeness >= SIMILAR).max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))?;
    Some(best.0.saturating_sub(index))
}

fn plain(line: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    punctuation::each_plain(line, |piece, _| plain.extend_from_slice(piece));
    plain
}

/// Without case, blanks and typography.
fn fold(line: &[u8]) -> String {
    String::from_utf8_lossy(&plain(line)).chars().filter(|c| !c.is_whitespace()).flat_map(char::to_lowercase).collect()
}

/// The first line of the old text may begin, and its last may end, in the middle of a line.
fn fits(file: &[u8], old: &[&[u8]], index: usize) -> bool {
    let line = old[index];
    match (index == 0, index + 1 == old.len()) {
        (true, true) => memchr::memmem::find(file, line).is_some(),
        (true, false) => file.ends_with(line),
        (false, true) => file.starts_with(line),
        (false, false) => file == line,
    }
}

/// What kind of difference it is, from the least to the greatest.
fn how(file: &[u8], old: &[u8]) -> String {
    let style = |line: &[u8]| match &line[..indent_of(line)] {
        [] => "none",
        indent if indent.contains(&b'\t') && indent.contains(&b' ') => "tabs and spaces",
        [b'\t', ..] => "tabs",
        _ => "spaces",
    };
    let squeezed = |line: &[u8]| line.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect::<Vec<u8>>();
    if file.trim_ascii_end_blanks() == old.trim_ascii_end_blanks() {
        "trailing blanks".to_owned()
    } else if file.trim_ascii() == old.trim_ascii() {
        let (has, asked) = (style(file), style(old));
        if has == asked {
            format!("indentation: {} {has} in the file, {} in old_str", indent_of(file), indent_of(old))
        } else {
            format!("indentation: {has} in the file, {asked} in old_str")
        }
    } else if squeezed(file) == squeezed(old) {
        "tabs or spaces inside of the line".to_owned()
    } else if plain(file) == plain(old) {
        "typographic quotes, dashes or spaces".to_owned()
    } else if String::from_utf8_lossy(file).to_lowercase() == String::from_utf8_lossy(old).to_lowercase() {
        "upper and lower case".to_owned()
    } else {
        let (file, old) = (String::from_utf8_lossy(file), String::from_utf8_lossy(old));
        let same = file.chars().zip(old.chars()).take_while(|(a, b)| a == b).count();
        format!("wording, from column {}", same + 1)
    }
}

fn beside(file: &[u8], old: &[u8]) -> String {
    format!("  the file has: {}\n  old_str has:  {}", visible(file), visible(old))
}

/// With blanks one can tell apart.
fn visible(line: &[u8]) -> String {
    const LONGEST: usize = 200;
    let text = String::from_utf8_lossy(line);
    let shown: String = text.chars().take(LONGEST).collect();
    let end = shown.trim_end_matches(' ').len();
    let dots = "·".repeat(shown.len() - end);
    format!("{}{dots}{}", shown[..end].replace('\t', "→"), if text.chars().count() > LONGEST { "…" } else { "" })
}

fn has_line_number(line: &[u8]) -> bool {
    let rest = line.trim_ascii_start();
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    digits > 0 && rest.get(digits) == Some(&b'\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(file: &str, old: &str, new: &str) -> String {
        diagnose(file.as_bytes(), &ReplaceRequest { old, new, all: false }).join("\n")
    }

    #[test]
    fn the_first_difference_is_named_by_its_kind() {
        let rows = [
            (
                "fn a() {\n\tx();\n\ty();\n}\n",
                "fn a() {\n    x();\n    z();\n}",
                "line 2: indentation: tabs in the file, spaces in old_str",
            ),
            ("let Foo = 1;\n", "let foo = 1;", "line 1: upper and lower case"),
            ("say “hi”\nend\n", "say \"hi\"\nfin", "line 1: typographic quotes"),
            ("a  =  1\nb\n", "a = 1\nc", "line 1: tabs or spaces inside of the line"),
            ("one two three\n", "one two four", "line 1: wording, from column 9"),
            ("a \nbcd\n", "a\nbce", "line 1: trailing blanks"),
        ];
        for (file, old, want) in rows {
            let text = told(file, old, "");
            assert!(text.contains(&format!("First difference at {want}")), "{old:?}:\n{text}");
        }
    }

    #[test]
    fn what_would_have_been_bridged_is_told_from_what_would_not() {
        let text = told("fn a() {\n\tx();\n\ty();\n}\n", "fn a() {\n    x();\n    z();\n}", "");
        assert!(text.contains("bridged; line 3 not: wording, from column 1."), "{text}");
    }

    #[test]
    fn an_edit_that_was_made_before_is_noticed() {
        let text = told("a\nnew text\n", "old text\n", "new text\n");
        assert!(text.contains("new_str is already in the file, at line 2"), "{text}");
    }

    #[test]
    fn line_numbers_copied_from_a_view_are_noticed() {
        let text = told("a\nb\n", "1\ta\n2\tb", "");
        assert!(text.contains("leave the line numbers and tabs out"), "{text}");
    }

    #[test]
    fn nothing_alike_is_nothing_said() {
        assert_eq!(told("apple\n", "zzzzzz", "q"), "");
    }
}
