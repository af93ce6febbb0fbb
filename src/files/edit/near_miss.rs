//! The diagnosis of a near miss: why a text was not found. It names the nearest region, the first line that differs, and how
//! the line differs. Pure, and only for the error text: nothing is ever replaced because it is similar.

use std::collections::HashMap;

use super::lines::{body, indent_of, split, without_trailing_blanks};
use super::punctuation;
use super::replace::ReplaceRequest;
use crate::files::text::numbered_lines::{self, numbered};

/// How many lines of the region are shown.
const MOST_SHOWN: usize = 12;
/// How many lines are compared by similarity when no line is the same apart from case, blanks and typography.
const MOST_COMPARED: usize = 20_000;
/// The least similarity of a line that is worth showing, from 0 to 1.
const SIMILAR: f64 = 0.5;
/// A line with fewer characters, such as a brace, occurs everywhere and says nothing about the place.
const TELLING: usize = 3;

/// What an agent needs to correct the edit. Each item is a line or a block of lines.
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
            let is_style = |index: usize| plain(file[index].trim_ascii()) == plain(old[index - start].trim_ascii());
            let wording = (at..end).find(|index| !is_style(*index) && !fits(file[*index], &old, index - start));
            if let Some(wording) = wording.filter(|wording| *wording > at && is_style(at)) {
                let (has, asked) = (file[wording], old[wording - start]);
                found.push(format!(
                    "That difference alone would have been ignored, but not the one at line {}: {}.",
                    wording + 1,
                    how(has, asked)
                ));
                found.push(beside(has, asked));
            }
        } else if end - start < old.len() {
            found.push(format!("The file ends at line {end}, but old_str continues: {}", visible(old[end - start])));
        }
    }
    if !request.new.is_empty()
        && let Some(at) = memchr::memmem::find(text, request.new.as_bytes())
    {
        let line = memchr::memchr_iter(b'\n', &text[..at]).count() + 1;
        found.push(format!("new_str is already in the file, at line {line}: the edit may have been made already."));
    }
    if old.iter().all(|line| line.is_empty() || has_line_number(line)) {
        found.push("old_str looks like output of view: leave out the line numbers and the tab after them.".to_owned());
    }
    if request.old.contains('\u{FFFD}') {
        found.push(
            "old_str contains U+FFFD, which view shows for bytes that are not UTF-8: leave those bytes out.".to_owned(),
        );
    }
    found
}

/// The line at which the nearest region begins: where most lines of the old text occur apart from case, blanks and
/// typography, else where a line is similar to the longest line of the old text.
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
    best.map(|(start, _)| start).or_else(|| similar_region(file, &folded))
}

fn similar_region(file: &[&[u8]], old: &[String]) -> Option<usize> {
    let (index, longest) = old.iter().enumerate().max_by_key(|(_, line)| line.len())?;
    let similarity = |line: &[u8]| {
        let line = fold(line);
        let part = line.contains(longest.as_str()) && !longest.is_empty();
        if part { 1.0 } else { strsim::sorensen_dice(&line, longest) }
    };
    let rated = file.iter().take(MOST_COMPARED).enumerate().map(|(at, line)| (at, similarity(line)));
    let best = rated
        .filter(|(_, similarity)| *similarity >= SIMILAR)
        .max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))?;
    Some(best.0.saturating_sub(index))
}

fn plain(line: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    punctuation::each_plain(line, |piece, _| plain.extend_from_slice(piece));
    plain
}

/// A line without case, blanks and typography.
fn fold(line: &[u8]) -> String {
    String::from_utf8_lossy(&plain(line)).chars().filter(|c| !c.is_whitespace()).flat_map(char::to_lowercase).collect()
}

/// Whether a line of the file matches a line of the old text. The first line of the old text may begin, and its last line
/// may end, in the middle of a line.
fn fits(file: &[u8], old: &[&[u8]], index: usize) -> bool {
    let line = old[index];
    match (index == 0, index + 1 == old.len()) {
        (true, true) => memchr::memmem::find(file, line).is_some(),
        (true, false) => file.ends_with(line),
        (false, true) => file.starts_with(line),
        (false, false) => file == line,
    }
}

/// How two lines differ. The most harmless kind of difference is tried first.
fn how(file: &[u8], old: &[u8]) -> String {
    let style = |line: &[u8]| match &line[..indent_of(line)] {
        [] => "none",
        indent if indent.contains(&b'\t') && indent.contains(&b' ') => "tabs and spaces",
        [b'\t', ..] => "tabs",
        _ => "spaces",
    };
    let squeezed = |line: &[u8]| line.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect::<Vec<u8>>();
    if without_trailing_blanks(file) == without_trailing_blanks(old) {
        "trailing blanks".to_owned()
    } else if file.trim_ascii() == old.trim_ascii() {
        let (has, asked) = (style(file), style(old));
        if has == asked {
            format!("indentation: {} {has} in the file, {} in old_str", indent_of(file), indent_of(old))
        } else {
            format!("indentation: {has} in the file, {asked} in old_str")
        }
    } else if squeezed(file) == squeezed(old) {
        "tabs or spaces inside the line".to_owned()
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

/// A line with its tabs and trailing spaces made visible.
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
            ("a  =  1\nb\n", "a = 1\nc", "line 1: tabs or spaces inside the line"),
            ("one two three\n", "one two four", "line 1: wording, from column 9"),
            ("a \nbcd\n", "a\nbce", "line 1: trailing blanks"),
        ];
        for (file, old, want) in rows {
            let text = told(file, old, "");
            assert!(text.contains(&format!("First difference at {want}")), "{old:?}:\n{text}");
        }
    }

    #[test]
    fn a_difference_in_style_is_told_apart_from_one_in_wording() {
        let text = told("fn a() {\n\tx();\n\ty();\n}\n", "fn a() {\n    x();\n    z();\n}", "");
        assert!(text.contains("would have been ignored, but not the one at line 3: wording, from column 1."), "{text}");
    }

    #[test]
    fn an_edit_that_was_made_already_is_noticed() {
        let text = told("a\nnew text\n", "old text\n", "new text\n");
        assert!(text.contains("new_str is already in the file, at line 2"), "{text}");
    }

    #[test]
    fn line_numbers_copied_from_a_view_are_noticed() {
        let text = told("a\nb\n", "1\ta\n2\tb", "");
        assert!(text.contains("leave out the line numbers"), "{text}");
    }

    #[test]
    fn without_a_similar_line_nothing_is_said() {
        assert_eq!(told("apple\n", "zzzzzz", "q"), "");
    }
}
