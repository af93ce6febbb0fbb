//! Puts planned bytes into a file.

use std::ops::Range;

use crate::files::text::Encoding;

/// New bytes for a stretch of the decoded text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Splice {
    pub range: Range<usize>,
    pub text: Vec<u8>,
}

/// The stored bytes with the splices in them, and where the splices are in the new decoded text.
pub fn apply(content: &[u8], text: &[u8], encoding: Encoding, splices: &[Splice]) -> (Vec<u8>, Vec<Range<usize>>) {
    let mark = encoding.mark().len();
    let mut out = Vec::with_capacity(content.len() + splices.iter().map(|splice| splice.text.len()).sum::<usize>());
    // Offsets into the decoded text, into the stored bytes, into the stored bytes that were copied, and into the new text.
    let (mut read, mut stored, mut copied, mut written) = (0, mark, 0, 0);
    let mut places = Vec::new();
    for splice in splices {
        stored += encoding.stored_length(&text[read..splice.range.start]);
        out.extend_from_slice(&content[copied..stored]);
        out.extend(encoding.encode(&splice.text));
        written += splice.range.start - read;
        places.push(written..written + splice.text.len());
        written += splice.text.len();
        stored += encoding.stored_length(&text[splice.range.clone()]);
        (read, copied) = (splice.range.end, stored);
    }
    out.extend_from_slice(&content[copied..]);
    (out, places)
}

/// The line that an offset is in, counted from 0.
pub fn line_of(text: &[u8], at: usize) -> usize {
    memchr::memchr_iter(b'\n', &text[..at]).count()
}

/// The lines that each splice is in, counted from 0. This takes one pass for all splices.
pub fn lines_of(text: &[u8], splices: &[Splice]) -> Vec<Range<usize>> {
    let (mut at, mut line) = (0, 0);
    let lines = splices.iter().map(|splice| {
        let Range { start, end } = splice.range;
        line += line_of(&text[at..start], start - at);
        at = start;
        let inside = line_of(&text[start..], end.saturating_sub(1).max(start) - start);
        line..line + inside + 1
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::replace::{self, ReplaceRequest};
    use super::*;

    const ENCODINGS: [Encoding; 6] = [
        Encoding::Bytes,
        Encoding::Utf8Bom,
        Encoding::Utf16Le,
        Encoding::Utf16Be,
        Encoding::Utf32Le,
        Encoding::Utf32Be,
    ];

    #[test]
    fn splices_know_their_lines() {
        let splice = |range| Splice { range, text: Vec::new() };
        let lines = lines_of(b"a\nb\nc\nd\n", &[splice(0..1), splice(2..5), splice(6..8)]);
        assert_eq!(lines, [0..1, 1..3, 3..4]);
    }

    proptest! {
        /// The bytes around the match stay the same, valid in the encoding or not.
        #[test]
        fn stored_bytes_outside_of_the_match_are_identical(
            before in proptest::collection::vec(any::<u8>(), 0..40),
            after in proptest::collection::vec(any::<u8>(), 0..40),
            new in ".{0,10}",
        ) {
            for encoding in ENCODINGS {
                let whole = before.len() / 4 * 4;
                // A lone first surrogate would swallow the first unit of the match, so a character is put between them.
                let before = [&before[..whole], &encoding.encode(b"|")].concat();
                let stored = [encoding.mark(), &before, &encoding.encode(b"<needle>"), &after].concat();
                let encoding = Encoding::of(&stored);
                let text = encoding.text_of(&stored).into_owned();
                let request = ReplaceRequest { old: "<needle>", new: &new, all: false };
                let Ok(plan) = replace::plan(&text, &request) else { continue };
                let (written, _) = apply(&stored, &text, encoding, &plan.splices);
                let head = encoding.mark().len() + before.len();
                let old = encoding.encode(b"<needle>").len();
                prop_assert_eq!(&written[..head], &stored[..head]);
                prop_assert_eq!(&written[written.len() - after.len()..], &stored[head + old..]);
                prop_assert_eq!(written.len(), stored.len() - old + encoding.encode(plan.splices[0].text.as_slice()).len());
            }
        }
    }
}
