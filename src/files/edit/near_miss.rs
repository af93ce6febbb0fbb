//! The diagnosis of a near miss: why a text was not found. It names the nearest region, the first line that differs, and how
//! the line differs. Pure, and only for the error text: nothing is ever replaced because it is similar.

use super::line_difference::{how, side_by_side, visible};
use super::lines::{body, split};
use super::nearest_region::nearest_region;
use super::punctuation::made_plain;
use super::replace::ReplaceRequest;
use super::splice::line_of;
use crate::files::Interrupt;
use crate::files::text::numbered_lines::{self, numbered};

/// How many lines of the region are shown.
const MOST_SHOWN: usize = 12;

/// What an agent needs to correct the edit. Each item is a line or a block of lines.
pub fn diagnose(text: &[u8], request: &ReplaceRequest<'_>, interrupt: &Interrupt) -> Vec<String> {
    let old = request.old.as_bytes();
    let nearest = nearest_region(text, old, interrupt);
    let mut found = nearest.map(|start| Region::new(text, old, start).compare()).unwrap_or_default();
    if !request.new.is_empty()
        && let Some(at) = memchr::memmem::find(text, request.new.as_bytes())
    {
        let line = line_of(text, at) + 1;
        found.push(format!("new_str is already in the file, at line {line}: the edit may have been made already."));
    }
    if split(old).map(body).all(|line| line.is_empty() || has_line_number(line)) {
        found.push("old_str looks like output of view: leave out the line numbers and the tab after them.".to_owned());
    }
    if request.old.contains('\u{FFFD}') {
        found.push(
            "old_str contains U+FFFD, which view shows for bytes that are not UTF-8: leave those bytes out.".to_owned(),
        );
    }
    found
}

/// The lines of the file beside those of the old text. They are split again for each question, because there may be
/// millions.
struct Region<'a> {
    /// The file from the first line of the region on.
    file: &'a [u8],
    old: &'a [u8],
    /// How many lines the old text has.
    length: usize,
    /// The line at which the region begins, counted from 0.
    start: usize,
}

impl<'a> Region<'a> {
    fn new(text: &'a [u8], old: &'a [u8], start: usize) -> Self {
        let offset: usize = split(text).take(start).map(<[u8]>::len).sum();
        Self { file: &text[offset..], old, length: split(old).count(), start }
    }

    /// Pairs of lines of the file and of the old text, with their index in the region.
    fn pairs(&self) -> impl Iterator<Item = (usize, &'a [u8], &'a [u8])> {
        let pairs = split(self.file).map(body).zip(split(self.old).map(body)).enumerate();
        pairs.map(|(index, (file, old))| (index, file, old))
    }

    /// Shows the region, and where it differs from the old text.
    fn compare(&self) -> Vec<String> {
        let differs = |(index, file, old): &(usize, &[u8], &[u8])| !self.fits(*index, file, old);
        let first = self.pairs().find(differs);
        let from = first.map_or(0, |(index, ..)| index.saturating_sub(MOST_SHOWN / 2));
        let shown = self.pairs().skip(from).take(MOST_SHOWN).map(|(_, file, _)| numbered_lines::shown(file));
        let shown: Vec<String> = shown.collect();
        let block = numbered((self.start + from) as u64 + 1, &shown);
        let mut found =
            vec![format!("The nearest text is at line {}:\n{}", self.start + 1, block.trim_end_matches('\n'))];
        let Some((index, in_file, in_old)) = first else {
            let compared = self.pairs().count();
            if let Some(rest) = split(self.old).map(body).nth(compared) {
                let end = self.start + compared;
                found.push(format!("The file ends at line {end}, but old_str continues: {}", visible(rest)));
            }
            return found;
        };
        let line = self.start + index + 1;
        found.push(format!("First difference at line {line}: {}.", how(in_file, in_old)));
        found.push(side_by_side(in_file, in_old));
        // A difference in style does not keep a text from matching, so a later difference in wording must be the cause.
        let is_style = |file: &[u8], old: &[u8]| made_plain(file.trim_ascii()) == made_plain(old.trim_ascii());
        if !is_style(in_file, in_old) {
            return found;
        }
        let wording = self.pairs().skip(index + 1).find(|pair| !is_style(pair.1, pair.2) && differs(pair));
        if let Some((index, in_file, in_old)) = wording {
            found.push(format!(
                "That difference alone would have been ignored, but not the one at line {}: {}.",
                self.start + index + 1,
                how(in_file, in_old)
            ));
            found.push(side_by_side(in_file, in_old));
        }
        found
    }

    /// Whether a line of the file matches a line of the old text. The first line of the old text may begin, and its last
    /// line may end, in the middle of a line.
    fn fits(&self, index: usize, file: &[u8], old: &[u8]) -> bool {
        match (index == 0, index + 1 == self.length) {
            (true, true) => memchr::memmem::find(file, old).is_some(),
            (true, false) => file.ends_with(old),
            (false, true) => file.starts_with(old),
            (false, false) => file == old,
        }
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
        diagnose(file.as_bytes(), &ReplaceRequest { old, new, all: false }, &Interrupt::never()).join("\n")
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
