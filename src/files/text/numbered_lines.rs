//! How lines are shown to an agent: numbered, and cut where they are too long.

/// How many characters of a line are shown.
const LONGEST_LINE: usize = 2_000;
/// More bytes than a shown line can have. Bytes beyond are counted, not kept.
const LONGEST_KEPT: usize = LONGEST_LINE * 4 + 4;

/// A line that is read piece by piece. It takes bounded memory however long the line is.
#[derive(Debug, Default)]
pub struct Line {
    kept: Vec<u8>,
    characters: u64,
    /// How many bytes of the current character are still to come.
    expected: u8,
    last: Option<u8>,
}

impl Line {
    pub fn push(&mut self, bytes: &[u8]) {
        let room = LONGEST_KEPT.saturating_sub(self.kept.len()).min(bytes.len());
        self.kept.extend_from_slice(&bytes[..room]);
        for &byte in bytes {
            self.count(byte);
        }
        self.last = bytes.last().copied().or(self.last);
    }

    fn count(&mut self, byte: u8) {
        match byte {
            0x80..=0xBF if self.expected > 0 => self.expected -= 1,
            _ => {
                self.characters += 1;
                self.expected = match byte {
                    0xC2..=0xDF => 1,
                    0xE0..=0xEF => 2,
                    0xF0..=0xF4 => 3,
                    _ => 0,
                };
            }
        }
    }

    /// The line without its ending. A line that is too long is cut, and the text says so.
    pub fn finish(mut self) -> String {
        if self.last == Some(b'\r') {
            self.characters -= 1;
            if self.kept.len() < LONGEST_KEPT {
                self.kept.pop();
            }
        }
        let text = String::from_utf8_lossy(&self.kept);
        if self.characters <= LONGEST_LINE as u64 {
            return text.into_owned();
        }
        let head: String = text.chars().take(LONGEST_LINE).collect();
        format!("{head}... [truncated, {} chars total]", self.characters)
    }
}

/// A line as it is shown, without its ending and cut where it is too long.
pub fn shown(line: &[u8]) -> String {
    let mut whole = Line::default();
    whole.push(line.strip_suffix(b"\n").unwrap_or(line));
    whole.finish()
}

/// Each line after its right-aligned number and a tab. All numbers are as wide as the last one.
pub fn numbered<L: AsRef<str>>(first: u64, lines: &[L]) -> String {
    aligned(first, lines, (first + lines.len() as u64).saturating_sub(1))
}

/// Like [`numbered`], for a part of lines of which `last` is the last one.
pub fn aligned<L: AsRef<str>>(first: u64, lines: &[L], last: u64) -> String {
    let width = last.to_string().len();
    let mut text = String::new();
    for (number, line) in (first..).zip(lines) {
        text.push_str(&format!("{number:>width$}\t{}\n", line.as_ref()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_right_aligned_to_the_last() {
        assert_eq!(numbered(9, &["a", "b"]), " 9\ta\n10\tb\n");
        assert_eq!(numbered::<&str>(1, &[]), "");
    }

    #[test]
    fn a_long_line_is_cut_by_characters_and_says_so() {
        let exact = "é".repeat(2_000);
        assert_eq!(shown(exact.as_bytes()), exact);
        assert_eq!(shown(format!("{exact}\r\n").as_bytes()), exact);
        let long = "é".repeat(2_001);
        assert_eq!(shown(long.as_bytes()), format!("{exact}... [truncated, 2001 chars total]"));
        let huge = vec![b'x'; 3_000_000];
        assert!(shown(&huge).ends_with("x... [truncated, 3000000 chars total]"));
    }

    #[test]
    fn bytes_that_are_not_utf_8_become_replacement_characters() {
        assert_eq!(shown(b"caf\xE9 \xFF"), "caf\u{FFFD} \u{FFFD}");
        assert_eq!(shown(&[0x80; 5_000]).chars().take(2_000).filter(|c| *c == '\u{FFFD}').count(), 2_000);
    }
}
