use std::io::Read;

use super::Encoding;

/// Reads a file that has a byte order mark as UTF-8, a piece at a time. Without a mark the bytes pass through unchanged.
pub struct Decoder<R> {
    inner: R,
    encoding: Encoding,
    /// Stored bytes of a character whose end has not been read yet.
    rest: Vec<u8>,
    /// Decoded text, and how much of it has been handed out.
    ready: Vec<u8>,
    given: usize,
    at_end: bool,
}

const PIECE: usize = 64 * 1024;

impl<R: Read> Decoder<R> {
    /// `inner` must be positioned right after the mark, which is not part of the text.
    pub fn new(inner: R, encoding: Encoding) -> Self {
        Self { inner, encoding, rest: Vec::new(), ready: Vec::new(), given: 0, at_end: false }
    }

    fn refill(&mut self) -> std::io::Result<()> {
        let mut piece = std::mem::take(&mut self.rest);
        let before = piece.len();
        piece.resize(before + PIECE, 0);
        let count = self.inner.read(&mut piece[before..])?;
        piece.truncate(before + count);
        self.at_end = count == 0;
        if !self.at_end {
            self.rest = piece.split_off(self.complete(&piece));
        }
        self.ready = self.encoding.decode(&piece).into_owned();
        self.given = 0;
        Ok(())
    }

    /// How many bytes of a piece can be decoded now: whole code units, without a lone first surrogate at the end.
    fn complete(&self, piece: &[u8]) -> usize {
        let whole = piece.len() / self.encoding.unit() * self.encoding.unit();
        let high = match (self.encoding, whole.checked_sub(2)) {
            (Encoding::Utf16Le, Some(last)) => piece[last + 1],
            (Encoding::Utf16Be, Some(last)) => piece[last],
            _ => 0,
        };
        if (0xD8..0xDC).contains(&high) { whole - 2 } else { whole }
    }
}

impl<R: Read> Read for Decoder<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.encoding.unit() == 1 {
            return self.inner.read(buffer);
        }
        while self.given == self.ready.len() {
            if self.at_end {
                return Ok(0);
            }
            self.refill()?;
        }
        let count = buffer.len().min(self.ready.len() - self.given);
        buffer[..count].copy_from_slice(&self.ready[self.given..self.given + count]);
        self.given += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Hands out a few bytes at a time, so that characters are cut in two.
    struct Slowly<'a>(&'a [u8], usize);

    impl Read for Slowly<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let step = self.1.min(buffer.len());
            (&mut self.0).take(step as u64).read(buffer)
        }
    }

    proptest! {
        #[test]
        fn pieces_make_the_same_text_as_the_whole(text in ".*", step in 1usize..7) {
            for encoding in [Encoding::Utf16Le, Encoding::Utf16Be, Encoding::Utf32Le, Encoding::Utf32Be] {
                let stored = encoding.encode(text.as_bytes());
                let mut read = String::new();
                Decoder::new(Slowly(&stored, step), encoding).read_to_string(&mut read).unwrap();
                prop_assert_eq!(&read, &text);
            }
        }
    }
}
