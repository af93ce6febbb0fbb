//! Puts planned bytes into a file. How large the file becomes is known before anything is built.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memmem;

use crate::files::text::Encoding;

/// The stretches of the decoded text that get new bytes, in order and without overlap.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Changes<'a> {
    /// Every occurrence of a text gets the same new bytes. There may be millions, so they are found again and not kept.
    Every {
        old: &'a str,
        new: Cow<'a, str>,
        count: usize,
    },
    Few(Vec<Splice>),
}

/// New bytes for a stretch of the decoded text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Splice {
    pub range: Range<usize>,
    pub text: Vec<u8>,
}

impl Changes<'_> {
    /// How many bytes the file has once they are made.
    pub fn size_after(&self, content: &[u8], text: &[u8], encoding: Encoding) -> u64 {
        let length = |text: &[u8]| encoding.stored_length(text) as u64;
        let (removed, added) = match self {
            Self::Every { old, new, count } => {
                let times = |text: &str| length(text.as_bytes()).saturating_mul(*count as u64);
                (times(old), times(new))
            }
            Self::Few(splices) => splices.iter().fold((0, 0), |(removed, added), splice| {
                (removed + length(&text[splice.range.clone()]), added + length(&splice.text))
            }),
        };
        (content.len() as u64 - removed).saturating_add(added)
    }

    /// The stored bytes with the changes in them, and the stretch of the new decoded text from the first change to the last.
    pub fn apply(&self, content: &[u8], text: &[u8], encoding: Encoding) -> (Vec<u8>, Option<Range<usize>>) {
        let size = self.size_after(content, text, encoding);
        let mut spliced = Spliced {
            content,
            text,
            encoding,
            out: Vec::with_capacity(usize::try_from(size).unwrap_or(0)),
            read: 0,
            stored: encoding.mark().len(),
            copied: 0,
            written: 0,
            changed: None,
        };
        match self {
            Self::Every { old, new, .. } => {
                let stored = encoding.encode(new.as_bytes());
                for start in memmem::find_iter(text, old) {
                    spliced.put(&(start..start + old.len()), new.len(), &stored);
                }
            }
            Self::Few(splices) => {
                for Splice { range, text } in splices {
                    spliced.put(range, text.len(), &encoding.encode(text));
                }
            }
        }
        spliced.out.extend_from_slice(&content[spliced.copied..]);
        (spliced.out, spliced.changed)
    }

    /// Whether [`Changes::make`] is quick. It moves the rest of the file for every stretch whose length changes.
    pub fn are_few(&self) -> bool {
        match self {
            Self::Every { old, new, count } => *count <= FEW || old.len() == new.len(),
            Self::Few(splices) => splices.len() <= FEW,
        }
    }

    /// Makes the changes in the bytes of a file itself, so that a large file is in memory only once. The text begins after
    /// the mark and is stored as it is. Returns the same stretch as [`Changes::apply`].
    pub fn make(&self, content: &mut Vec<u8>, mark: usize) -> Option<Range<usize>> {
        match self {
            Self::Every { old, new, .. } => {
                let finder = memmem::Finder::new(old);
                let (mut at, mut first) = (mark, None);
                while let Some(next) = finder.find(&content[at..]) {
                    let start = at + next;
                    put(content, start..start + old.len(), new.as_bytes());
                    at = start + new.len();
                    first.get_or_insert(start - mark);
                }
                first.map(|first| first..at - mark)
            }
            Self::Few(splices) => {
                let (first, last) = (splices.first()?, splices.last()?);
                let before = content.len();
                for Splice { range, text } in splices.iter().rev() {
                    put(content, range.start + mark..range.end + mark, text);
                }
                Some(first.range.start..last.range.end + content.len() - before)
            }
        }
    }

    /// The lines that each change is in, counted from 0. This takes one pass for all of them.
    pub fn lines<'t>(&'t self, text: &'t [u8]) -> Box<dyn Iterator<Item = Range<usize>> + 't> {
        let ranges: Box<dyn Iterator<Item = Range<usize>>> = match self {
            Self::Every { old, .. } => Box::new(memmem::find_iter(text, *old).map(|start| start..start + old.len())),
            Self::Few(splices) => Box::new(splices.iter().map(|splice| splice.range.clone())),
        };
        let (mut at, mut line) = (0, 0);
        Box::new(ranges.map(move |Range { start, end }| {
            line += line_of(&text[at..start], start - at);
            at = start;
            let inside = line_of(&text[start..], end.saturating_sub(1).max(start) - start);
            line..line + inside + 1
        }))
    }
}

/// How many stretches are replaced where they lie. For more, a new file is put together.
const FEW: usize = 16;

fn put(content: &mut Vec<u8>, range: Range<usize>, new: &[u8]) {
    if range.len() == new.len() {
        content[range].copy_from_slice(new);
    } else {
        content.splice(range, new.iter().copied());
    }
}

/// A file that is being put together.
struct Spliced<'a> {
    content: &'a [u8],
    text: &'a [u8],
    encoding: Encoding,
    out: Vec<u8>,
    /// Offsets into the decoded text, into the stored bytes, into the stored bytes that were copied, and into the new text.
    read: usize,
    stored: usize,
    copied: usize,
    written: usize,
    changed: Option<Range<usize>>,
}

impl Spliced<'_> {
    /// Puts new bytes in place of a stretch. `length` is the length of the new text before it was encoded.
    fn put(&mut self, range: &Range<usize>, length: usize, encoded: &[u8]) {
        self.stored += self.encoding.stored_length(&self.text[self.read..range.start]);
        self.out.extend_from_slice(&self.content[self.copied..self.stored]);
        self.out.extend_from_slice(encoded);
        self.written += range.start - self.read;
        let first = self.changed.as_ref().map_or(self.written, |changed| changed.start);
        self.written += length;
        self.changed = Some(first..self.written);
        self.stored += self.encoding.stored_length(&self.text[range.clone()]);
        (self.read, self.copied) = (range.end, self.stored);
    }
}

/// The line that an offset is in, counted from 0.
pub fn line_of(text: &[u8], at: usize) -> usize {
    memchr::memchr_iter(b'\n', &text[..at]).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::replace::{self, ReplaceRequest};
    use super::*;
    use crate::files::Interrupt;

    const ENCODINGS: [Encoding; 6] = [
        Encoding::Bytes,
        Encoding::Utf8Bom,
        Encoding::Utf16Le,
        Encoding::Utf16Be,
        Encoding::Utf32Le,
        Encoding::Utf32Be,
    ];

    #[test]
    fn changes_know_their_lines() {
        let splice = |range| Splice { range, text: Vec::new() };
        let few = Changes::Few(vec![splice(0..1), splice(2..5), splice(6..8)]);
        assert_eq!(few.lines(b"a\nb\nc\nd\n").collect::<Vec<_>>(), [0..1, 1..3, 3..4]);
        let every = Changes::Every { old: "\n", new: "".into(), count: 2 };
        assert_eq!(every.lines(b"a\nb\n").collect::<Vec<_>>(), [0..1, 1..2]);
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
                let Ok(plan) = replace::plan(&text, &request, &Interrupt::never()) else { continue };
                let (written, changed) = plan.changes.apply(&stored, &text, encoding);
                let head = encoding.mark().len() + before.len();
                let old = encoding.encode(b"<needle>").len();
                let changed = encoding.encode(&encoding.text_of(&written)[changed.unwrap()]).len();
                prop_assert_eq!(&written[..head], &stored[..head]);
                prop_assert_eq!(&written[written.len() - after.len()..], &stored[head + old..]);
                prop_assert_eq!(written.len(), stored.len() - old + changed);
            }
        }

        /// The size is right in every encoding, however many matches there are.
        #[test]
        fn the_size_is_known_before_the_work(text in "[ab𝄞\n]{0,40}", new in "[xé𝄞]{0,5}") {
            for encoding in ENCODINGS {
                let stored = [encoding.mark(), &encoding.encode(text.as_bytes())].concat();
                let request = ReplaceRequest { old: "a", new: &new, all: true };
                let Ok(plan) = replace::plan(text.as_bytes(), &request, &Interrupt::never()) else { continue };
                let (written, _) = plan.changes.apply(&stored, text.as_bytes(), encoding);
                prop_assert_eq!(plan.changes.size_after(&stored, text.as_bytes(), encoding), written.len() as u64);
                prop_assert_eq!(encoding.text_of(&written).into_owned(), text.replace('a', &new).into_bytes());
            }
        }

        /// Changes that are made in the file itself come to the same.
        #[test]
        fn changes_in_place_are_the_same_changes(text in "[ab\n]{0,40}", new in "[xa]{0,3}", cuts in proptest::collection::btree_set(0_usize..40, 0..8)) {
            let request = ReplaceRequest { old: "a", new: &new, all: true };
            let every = replace::plan(text.as_bytes(), &request, &Interrupt::never()).map(|plan| plan.changes);
            let ends: Vec<usize> = cuts.into_iter().filter(|cut| *cut <= text.len()).collect();
            let splice = |pair: &[usize]| Splice { range: pair[0]..pair[1], text: new.clone().into_bytes() };
            let few = Changes::Few(ends.chunks_exact(2).map(splice).collect());
            for changes in every.into_iter().chain([few]) {
                for encoding in [Encoding::Bytes, Encoding::Utf8Bom] {
                    let mut stored = [encoding.mark(), text.as_bytes()].concat();
                    let want = changes.apply(&stored, text.as_bytes(), encoding);
                    let changed = changes.make(&mut stored, encoding.mark().len());
                    prop_assert_eq!((stored, changed), want);
                }
            }
        }
    }
}
