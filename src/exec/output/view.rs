//! The bounded text of a stream, as a person would have seen it on a terminal.

use std::borrow::Cow;

use super::cleaner::{Cleaner, Part};
use super::line::Line;

/// The first characters of a stream, and how many there were in all. A carriage return overwrites its line, so a progress
/// bar is one line.
#[derive(Debug)]
pub struct View {
    limit: usize,
    /// Finished lines, as far as they fit.
    head: String,
    head_characters: usize,
    /// Characters of all finished lines.
    finished: u64,
    line: Line,
    cleaner: Cleaner,
}

impl View {
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            head: String::new(),
            head_characters: 0,
            finished: 0,
            line: Line::default(),
            cleaner: Cleaner::default(),
        }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        if self.counts_only() && is_plain(bytes) {
            // Nothing of it is shown: ASCII counts at the speed of memory.
            let lines = memchr::memrchr(b'\n', bytes).map_or(0, |last| last + 1);
            if lines > 0 {
                self.finish_line("");
                self.finished += lines as u64;
            }
            return self.line.count((bytes.len() - lines) as u64);
        }
        let mut cleaner = std::mem::take(&mut self.cleaner);
        cleaner.push(bytes, &mut |part| self.add(part));
        self.cleaner = cleaner;
    }

    /// The stream has ended.
    pub fn finish(&mut self) {
        let mut cleaner = std::mem::take(&mut self.cleaner);
        cleaner.finish(&mut |part| self.add(part));
        self.finish_line("");
    }

    /// The characters that fit.
    pub fn head(&self) -> Cow<'_, str> {
        if self.line.is_empty() {
            return Cow::Borrowed(&self.head);
        }
        Cow::Owned(self.head.chars().chain(self.line.characters()).take(self.limit).collect())
    }

    /// Characters of the whole stream.
    pub fn total(&self) -> u64 {
        self.finished + self.line.length()
    }

    pub fn limit(&self) -> usize {
        self.limit
    }

    /// A copy of its present state, for a reader while it grows.
    #[must_use]
    pub fn snapshot(&self) -> Self {
        Self { head: self.head.clone(), line: self.line.clone(), cleaner: Cleaner::default(), ..*self }
    }

    pub fn is_cut(&self) -> bool {
        self.total() > self.limit as u64
    }

    /// Whether plain bytes change nothing but the count: what is shown is there, and the last piece did not end inside a
    /// character, an escape, or a line that a carriage return overwrites.
    fn counts_only(&self) -> bool {
        let shown = self.head_characters as u64 + self.line.length();
        shown >= self.limit as u64 && self.cleaner.is_between() && self.line.is_at_end()
    }

    fn add(&mut self, part: Part<'_>) {
        match part {
            Part::Text(text) => self.add_text(text),
            Part::EraseToEnd => self.line.erase_to_end(),
            Part::EraseLine => self.line.erase(),
            Part::Column(column) => self.line.go_to(column),
        }
    }

    fn add_text(&mut self, text: &str) {
        if self.line.is_at_end() && memchr::memchr(b'\r', text.as_bytes()).is_none() {
            // Ordinary output: whole lines at the speed of memory.
            let Some(last) = memchr::memrchr(b'\n', text.as_bytes()) else { return self.write(text) };
            self.finish_line(&text[..=last]);
            return self.write(&text[last + 1..]);
        }
        for piece in text.split_inclusive(['\n', '\r']) {
            if let Some(rest) = piece.strip_suffix('\n') {
                self.write(rest);
                self.finish_line("\n");
            } else if let Some(rest) = piece.strip_suffix('\r') {
                self.write(rest);
                self.line.carriage_return();
            } else {
                self.write(piece);
            }
        }
    }

    fn write(&mut self, text: &str) {
        self.line.write(text, self.limit - self.head_characters);
    }

    /// The line and what follows it can change no more.
    fn finish_line(&mut self, then: &str) {
        let (line, length) = self.line.take();
        self.finished += length;
        self.keep(&line, characters(&line));
        let count = characters(then);
        self.finished += count as u64;
        self.keep(then, count);
    }

    fn keep(&mut self, text: &str, count: usize) {
        let room = self.limit - self.head_characters;
        if count <= room {
            self.head.push_str(text);
            self.head_characters += count;
        } else {
            self.head.extend(text.chars().take(room));
            self.head_characters = self.limit;
        }
    }
}

/// Whether every byte is a character that stands for itself.
fn is_plain(bytes: &[u8]) -> bool {
    bytes.is_ascii() && memchr::memchr2(0x1b, b'\r', bytes).is_none()
}

/// How many characters a text has. Output is nearly always ASCII, and to see that is several times quicker than to count.
pub fn characters(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().count() }
}

/// The text of one whole piece, without a bound.
pub fn clean(bytes: &[u8]) -> String {
    let mut view = View::new(usize::MAX);
    view.push(bytes);
    view.finish();
    view.head
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn characters_are_counted_and_never_split() {
        let mut view = View::new(3);
        "aé日".as_bytes().chunks(1).for_each(|byte| view.push(byte));
        assert_eq!((view.head().as_ref(), view.total(), view.is_cut()), ("aé日", 3, false));
        view.push(b"x");
        assert_eq!((view.head().as_ref(), view.total(), view.is_cut()), ("aé日", 4, true));
    }

    #[test]
    fn escapes_do_not_count() {
        let mut view = View::new(10);
        view.push(b"\x1b[31mred\x1b[0m");
        view.finish();
        assert_eq!((view.head().as_ref(), view.total()), ("red", 3));
    }

    #[test]
    fn a_carriage_return_overwrites_its_line() {
        for (bytes, text) in [
            ("10%\r50%\r100%\n", "100%\n"),
            ("loading\rdone\n", "doneing\n"),
            ("loading\r\x1b[Kdone\n", "done\n"),
            ("loading\x1b[2K\rdone\n", "done\n"),
            ("loading\x1b[1Gdone\x1b[K\n", "done\n"),
            ("a\r\nb\r\n", "a\r\nb\r\n"),
            ("first\nold\rnew", "first\nnew"),
            ("50%\r", "50%\r"),
            ("a\r\r\nb", "a\r\nb"),
            ("日本\r語", "語本"),
        ] {
            assert_eq!(clean(bytes.as_bytes()), text, "{bytes:?}");
        }
    }

    #[test]
    fn a_progress_bar_counts_as_the_line_it_left() {
        let mut view = View::new(20);
        for step in 0..3000 {
            view.push(format!("\r{step:>4} of 3000").as_bytes());
        }
        view.push(b"\n");
        view.finish();
        assert_eq!((view.head().as_ref(), view.total()), ("2999 of 3000\n", 13));
    }

    #[test]
    fn a_line_beyond_the_limit_is_counted() {
        let mut view = View::new(4);
        view.push(b"abcdefgh\rXY");
        assert_eq!((view.head().as_ref(), view.total()), ("XYcd", 8));
        view.push(b"\nnext");
        assert_eq!((view.head().as_ref(), view.total()), ("XYcd", 13));
    }

    proptest! {
        #[test]
        fn where_the_pipe_cuts_makes_no_difference(
            bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(b'\r'), Just(b'\n'), Just(0x1b), Just(b'['), Just(b'K'), Just(b'G')], 0..200),
            cuts: Vec<prop::sample::Index>,
            limit in 0_usize..100,
        ) {
            let (mut whole, mut pieces) = (View::new(limit), View::new(limit));
            whole.push(&bytes);
            whole.finish();
            let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            at.sort_unstable();
            let mut from = 0;
            for to in at.into_iter().chain([bytes.len()]) {
                pieces.push(&bytes[from..to]);
                from = to;
            }
            pieces.finish();
            prop_assert_eq!(whole.total(), pieces.total());
            prop_assert_eq!(whole.head(), pieces.head());
            let bounded: String = clean(&bytes).chars().take(limit).collect();
            prop_assert_eq!(whole.head().into_owned(), bounded);
        }

        #[test]
        fn text_without_escapes_is_what_lossy_decoding_gives(bytes in prop::collection::vec(any::<u8>().prop_filter("plain", |b| ![0x1b, b'\r'].contains(b)), 0..200)) {
            prop_assert_eq!(clean(&bytes), String::from_utf8_lossy(&bytes));
        }
    }
}
