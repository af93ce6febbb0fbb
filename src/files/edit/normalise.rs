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

    /// The bytes that a stretch of the normalised text came from. `None` if the stretch begins or ends inside something that
    /// was one character, such as the `...` of an ellipsis.
    pub fn source(self, text: &[u8], normalised: &Range<usize>) -> Option<Range<usize>> {
        let mut at = 0;
        let (mut start, mut end) = (None, None);
        self.each(text, |piece, source| {
            let here = at..at + piece.len();
            at = here.end;
            let verbatim = *piece == text[source.clone()];
            if here.contains(&normalised.start) {
                let into = normalised.start - here.start;
                start = (into == 0 || verbatim).then_some(source.start + into);
            }
            if here.contains(&(normalised.end - 1)) {
                let left = here.end - normalised.end;
                end = (left == 0 || verbatim).then_some(source.end - left);
            }
        });
        Some(start?..end?)
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
        assert_eq!(ALL.source(text, &(0..4)), Some(0..4));
        assert_eq!(ALL.source(text, &(0..5)), Some(0..5));
        assert_eq!(ALL.source(text, &(0..2)), None);
        assert_eq!(ALL.source(text, &(2..5)), None);
    }

    proptest! {
        #[test]
        fn the_source_of_a_stretch_normalises_to_it(text in "[ab \t\r\n“…]{0,30}", a in 0usize..30, b in 0usize..30) {
            let whole = ALL.apply(text.as_bytes());
            let (start, end) = (a.min(b).min(whole.len()), a.max(b).min(whole.len()));
            prop_assume!(start < end);
            if let Some(source) = ALL.source(text.as_bytes(), &(start..end)) {
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
