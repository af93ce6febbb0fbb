//! The diagnosis of a near miss: why a text was not found. It names the nearest region, the first line that differs, and how
//! the line differs. Pure, and only for the error text: nothing is ever replaced because it is similar.

use super::line_difference::{how, side_by_side, visible};
use super::lines::{body, split};
use super::nearest_region::nearest_region;
use super::punctuation::made_plain;
use super::replace::ReplaceRequest;
use super::splice::line_of;
use crate::files::text::numbered_lines::{self, numbered};

/// How many lines of the region are shown.
const MOST_SHOWN: usize = 12;

/// What an agent needs to correct the edit. Each item is a line or a block of lines.
pub fn diagnose(text: &[u8], request: &ReplaceRequest<'_>) -> Vec<String> {
    let file: Vec<&[u8]> = split(text).map(body).collect();
    let old: Vec<&[u8]> = split(request.old.as_bytes()).map(body).collect();
    let mut found = nearest_region(&file, &old).map(|start| compare(&file, &old, start)).unwrap_or_default();
    if !request.new.is_empty()
        && let Some(at) = memchr::memmem::find(text, request.new.as_bytes())
    {
        let line = line_of(text, at) + 1;
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

/// Shows the region that begins at line `start` of the file, and where it differs from the old text.
fn compare(file: &[&[u8]], old: &[&[u8]], start: usize) -> Vec<String> {
    let end = (start + old.len()).min(file.len());
    let first = (start..end).find(|index| !fits(file[*index], old, index - start));
    let from = first.map_or(start, |at| at.saturating_sub(MOST_SHOWN / 2).max(start));
    let shown: Vec<String> =
        file[from..end.min(from + MOST_SHOWN)].iter().map(|line| numbered_lines::shown(line)).collect();
    let block = numbered(from as u64 + 1, &shown);
    let mut found = vec![format!("The nearest text is at line {}:\n{}", start + 1, block.trim_end_matches('\n'))];
    let Some(first) = first else {
        if end - start < old.len() {
            found.push(format!("The file ends at line {end}, but old_str continues: {}", visible(old[end - start])));
        }
        return found;
    };
    let lines = |index: usize| (file[index], old[index - start]);
    let (in_file, in_old) = lines(first);
    found.push(format!("First difference at line {}: {}.", first + 1, how(in_file, in_old)));
    found.push(side_by_side(in_file, in_old));
    // A difference in style does not keep a text from matching, so a later difference in wording must be the cause.
    let is_style = |index: usize| made_plain(lines(index).0.trim_ascii()) == made_plain(lines(index).1.trim_ascii());
    let wording = (first..end).find(|index| !is_style(*index) && !fits(file[*index], old, index - start));
    if let Some(wording) = wording.filter(|wording| *wording > first && is_style(first)) {
        let (in_file, in_old) = lines(wording);
        found.push(format!(
            "That difference alone would have been ignored, but not the one at line {}: {}.",
            wording + 1,
            how(in_file, in_old)
        ));
        found.push(side_by_side(in_file, in_old));
    }
    found
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
