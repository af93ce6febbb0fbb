//! Turns the bytes of a command into text: invalid UTF-8 becomes U+FFFD, terminal escapes are removed. It works on pieces
//! of any size, because a pipe may cut anywhere.

/// What comes out of the cleaner.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Part<'a> {
    Text(&'a str),
    /// `ESC [ K`: the rest of the line, from the cursor on, is erased.
    EraseToEnd,
    /// `ESC [ 2 K`: the whole line is erased.
    EraseLine,
    /// `ESC [ n G`: the cursor goes to that column, counted from 0.
    Column(u32),
}

/// Remembers where the last piece ended: inside a character or inside an escape.
#[derive(Debug, Default)]
pub struct Cleaner {
    escape: Escape,
    partial: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum Escape {
    #[default]
    None,
    /// After ESC.
    Begun,
    /// After `ESC [`: parameters, then one final character. The number is the last parameter.
    Control { parameter: u32 },
    /// After `ESC (` and similar: one more character.
    Designation,
    /// After `ESC ]`, `ESC P`, …: text up to BEL or `ESC \`. The count keeps an unclosed one from hiding all that follows.
    Text { length: usize, closing: bool },
}

/// Longer than any title or link a terminal accepts.
const LONGEST_ESCAPE_TEXT: usize = 4096;

impl Cleaner {
    /// Whether the last piece ended between two characters, and outside an escape.
    pub fn is_between(&self) -> bool {
        self.partial.is_empty() && self.escape == Escape::None
    }

    /// Hands the cleaned text of this piece to `sink`, in one or more parts.
    pub fn push(&mut self, bytes: &[u8], sink: &mut impl FnMut(Part<'_>)) {
        if self.partial.is_empty() {
            self.decode(bytes, sink);
        } else {
            let mut joined = std::mem::take(&mut self.partial);
            joined.extend_from_slice(bytes);
            self.decode(&joined, sink);
        }
    }

    /// The end of the stream: a character cut short can no longer become whole.
    pub fn finish(&mut self, sink: &mut impl FnMut(Part<'_>)) {
        if !std::mem::take(&mut self.partial).is_empty() && self.escape == Escape::None {
            sink(Part::Text("\u{fffd}"));
        }
    }

    fn decode(&mut self, mut bytes: &[u8], sink: &mut impl FnMut(Part<'_>)) {
        loop {
            match std::str::from_utf8(bytes) {
                Ok(text) => return self.strip(text, sink),
                Err(error) => {
                    let (valid, rest) = bytes.split_at(error.valid_up_to());
                    self.strip(std::str::from_utf8(valid).unwrap_or_default(), sink);
                    let Some(length) = error.error_len() else {
                        self.partial = rest.to_vec();
                        return;
                    };
                    self.strip("\u{fffd}", sink);
                    bytes = &rest[length..];
                }
            }
        }
    }

    fn strip(&mut self, text: &str, sink: &mut impl FnMut(Part<'_>)) {
        let mut rest = text;
        while !rest.is_empty() {
            if self.escape == Escape::None {
                let Some(at) = memchr::memchr(0x1b, rest.as_bytes()) else { return sink(Part::Text(rest)) };
                if at > 0 {
                    sink(Part::Text(&rest[..at]));
                }
                self.escape = Escape::Begun;
                rest = &rest[at + 1..];
                continue;
            }
            let Some(next) = rest.chars().next() else { return };
            rest = &rest[next.len_utf8()..];
            if let Some(part) = self.escape.meaning(next) {
                sink(part);
            }
            self.escape = self.escape.after(next);
        }
    }
}

impl Escape {
    /// What an escape that ends with this character does to the line.
    fn meaning(self, last: char) -> Option<Part<'static>> {
        let Self::Control { parameter } = self else { return None };
        match (last, parameter) {
            ('K', 0) => Some(Part::EraseToEnd),
            ('K', 2) => Some(Part::EraseLine),
            ('G', column) => Some(Part::Column(column.saturating_sub(1))),
            _ => None,
        }
    }

    fn after(self, next: char) -> Self {
        match (self, next) {
            // Parameters and intermediates continue the sequence. Anything else ends it or breaks it off.
            (Self::Control { parameter }, '0'..='9') => {
                let digit = next.to_digit(10).unwrap_or(0);
                Self::Control { parameter: parameter.saturating_mul(10).saturating_add(digit) }
            }
            (Self::Begun, '[') | (Self::Control { .. }, '\u{20}'..='\u{3f}') => Self::Control { parameter: 0 },
            (Self::Begun, ']' | 'P' | 'X' | '^' | '_') => Self::Text { length: 0, closing: false },
            (Self::Begun, ' '..='/') => Self::Designation,
            (Self::Begun | Self::Control { .. }, '\u{1b}') => Self::Begun,
            (Self::Text { length, .. }, '\u{1b}') => Self::Text { length, closing: true },
            (Self::Text { closing: true, .. }, _) | (Self::Text { .. }, '\u{7}') => Self::None,
            (Self::Text { length, .. }, _) if length < LONGEST_ESCAPE_TEXT => {
                Self::Text { length: length + 1, closing: false }
            }
            _ => Self::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::clean;
    use super::*;

    #[test]
    fn escapes_go_and_everything_else_stays() {
        let rows: [(&[u8], &str); 11] = [
            (b"plain\ttext\r\n", "plain\ttext\r\n"),
            (b"\x1b[31mred\x1b[0m", "red"),
            (b"\x1b[1;38;5;200mx\x1b[K", "x"),
            (b"\x1b]0;title\x07after", "after"),
            (b"\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", "link"),
            (b"\x1bP+q\x1b\\x", "x"),
            (b"\x1b(Bx\x1b=y\x1b7z", "xyz"),
            (b"caf\xc3\xa9 \xff.", "café \u{fffd}."),
            (b"cut \xe2\x82", "cut \u{fffd}"),
            (b"\0\x01\x08", "\0\u{1}\u{8}"),
            ("日本\u{1b}[0m語".as_bytes(), "日本語"),
        ];
        for (bytes, text) in rows {
            assert_eq!(clean(bytes), text, "{bytes:?}");
        }
    }

    #[test]
    fn an_unclosed_title_does_not_swallow_the_rest_of_the_output() {
        let bytes = [b"\x1b]0;".as_slice(), &[b'x'; LONGEST_ESCAPE_TEXT + 1], b"\nvisible\n"].concat();
        assert!(clean(&bytes).ends_with("visible\n"));
    }
}
