//! Removes differences in style from a text, and maps a stretch of the result back to the bytes it came from.

use std::ops::Range;

use super::lines::{ending_of, indent_of, split, without_trailing_blanks};
use super::punctuation;

/// Which differences are removed. Line endings always are.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Rules {
    pub trailing_blanks: bool,
    pub indentation: bool,
    pub punctuation: bool,
}

impl Rules {
    pub fn apply(self, text: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len());
        self.each(text, |piece, _| out.extend_from_slice(piece));
        out
    }

    /// Reports the bytes that each stretch of the normalised text came from. The stretches are in order and do not overlap,
    /// so one pass finds them all. A stretch that begins or ends inside something that was one character, such as the `...`
    /// of an ellipsis, is left out.
    pub fn sources(
        self,
        text: &[u8],
        mut stretches: impl Iterator<Item = Range<usize>>,
        mut found: impl FnMut(Range<usize>),
    ) {
        let mut at = 0;
        let mut next = stretches.next();
        if next.is_none() {
            return;
        }
        // Where the current stretch starts, once that is known. `Some(None)` is inside a character.
        let mut start = None;
        self.each(text, |piece, source| {
            let here = at..at + piece.len();
            at = here.end;
            let verbatim = *piece == text[source.clone()];
            while let Some(stretch) = &next {
                if start.is_none() && here.contains(&stretch.start) {
                    let into = stretch.start - here.start;
                    start = Some((into == 0 || verbatim).then_some(source.start + into));
                }
                if !here.contains(&(stretch.end - 1)) {
                    break;
                }
                let left = here.end - stretch.end;
                if let Some(start) = start.take().flatten().filter(|_| left == 0 || verbatim) {
                    found(start..source.end - left);
                }
                next = stretches.next();
            }
        });
    }

    /// Emits every piece of the normalised text with the bytes it came from.
    fn each(self, text: &[u8], mut emit: impl FnMut(&[u8], Range<usize>)) {
        let mut at = 0;
        for line in split(text) {
            let (body, ending) = line.split_at(line.len() - ending_of(line).len());
            let kept = if self.trailing_blanks { without_trailing_blanks(body) } else { body };
            let indent = if self.indentation { indent_of(kept) } else { 0 };
            let from = at + indent;
            if self.punctuation {
                punctuation::each_plain(&kept[indent..], |piece, source| {
                    emit(piece, from + source.start..from + source.end);
                });
            } else if kept.len() > indent {
                emit(&kept[indent..], from..at + kept.len());
            }
            if !ending.is_empty() {
                emit(b"\n", at + body.len()..at + line.len());
            }
            at += line.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: Rules = Rules { trailing_blanks: true, indentation: true, punctuation: true };

    #[test]
    fn each_rule_removes_its_own_differences() {
        let text = "  a “b”\t\r\n\tc…\rd ".as_bytes();
        let rows = [
            (Rules::default(), "  a “b”\t\n\tc…\nd "),
            (Rules { trailing_blanks: true, ..Rules::default() }, "  a “b”\n\tc…\nd"),
            (Rules { indentation: true, ..Rules::default() }, "a “b”\t\nc…\nd "),
            (Rules { punctuation: true, ..Rules::default() }, "  a \"b\"\t\n\tc...\nd "),
            (ALL, "a \"b\"\nc...\nd"),
        ];
        for (rules, want) in rows {
            assert_eq!(String::from_utf8_lossy(&rules.apply(text)), want, "{rules:?}");
        }
    }

    #[test]
    fn half_a_character_has_no_source() {
        let text = "a…b".as_bytes();
        let source = |stretch| source(text, stretch);
        assert_eq!(source(0..4), Some(0..4));
        assert_eq!(source(0..5), Some(0..5));
        assert_eq!(source(0..2), None);
        assert_eq!(source(2..5), None);
    }

    fn source(text: &[u8], stretch: Range<usize>) -> Option<Range<usize>> {
        let mut found = None;
        ALL.sources(text, std::iter::once(stretch), |range| found = Some(range));
        found
    }

    #[test]
    fn several_stretches_are_found_in_one_pass() {
        let mut found = Vec::new();
        let stretches = [0..1, 1..2, 3..5, 5..8, 8..9];
        ALL.sources("ab\r\ncd…e".as_bytes(), stretches.into_iter(), |range| found.push(range));
        assert_eq!(found, [0..1, 1..2, 4..6, 6..9, 9..10]);
    }

    proptest! {
        #[test]
        fn the_source_of_a_stretch_normalises_to_it(text in "[ab \t\r\n“…]{0,30}", a in 0usize..30, b in 0usize..30) {
            let whole = ALL.apply(text.as_bytes());
            let (start, end) = (a.min(b).min(whole.len()), a.max(b).min(whole.len()));
            prop_assume!(start < end);
            if let Some(source) = source(text.as_bytes(), start..end) {
                let again = ALL.apply(&text.as_bytes()[source]);
                // Blanks at the edges of the stretch are removed once they are at the edge of a line.
                prop_assert_eq!(
                    String::from_utf8_lossy(&again).replace([' ', '\t'], ""),
                    String::from_utf8_lossy(&whole[start..end]).replace([' ', '\t'], "")
                );
            }
        }
    }
}
