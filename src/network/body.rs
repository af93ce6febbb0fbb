//! Where the body of a request ends. What a client sends behind it would be a further request, which nobody has checked.

/// How the length of a body is told.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Framing {
    /// So many bytes are still to come.
    Length(u64),
    Chunked,
}

/// Follows a body as it comes.
#[derive(Debug)]
pub struct Body {
    state: State,
}

#[derive(Debug)]
enum State {
    Bytes(u64),
    /// The line with the size of a chunk, as far as it has come.
    Size(Vec<u8>),
    /// The bytes of a chunk.
    Chunk(u64),
    /// The line end behind them.
    ChunkEnd(Vec<u8>),
    /// A line behind the last chunk.
    Trailer(Vec<u8>),
    Over,
}

#[derive(Debug, Eq, PartialEq)]
pub struct Malformed;

const LONGEST_LINE: usize = 4096;

impl Body {
    pub fn new(framing: Framing) -> Self {
        Self {
            state: match framing {
                Framing::Length(0) => State::Over,
                Framing::Length(length) => State::Bytes(length),
                Framing::Chunked => State::Size(Vec::new()),
            },
        }
    }

    pub fn is_over(&self) -> bool {
        matches!(self.state, State::Over)
    }

    /// How many of these bytes belong to the body.
    pub fn take(&mut self, bytes: &[u8]) -> Result<usize, Malformed> {
        let mut at = 0;
        while at < bytes.len() && !self.is_over() {
            at += self.step(&bytes[at..])?;
        }
        Ok(at)
    }

    /// Looks at the beginning of the bytes. Returns how many it has seen.
    fn step(&mut self, bytes: &[u8]) -> Result<usize, Malformed> {
        let some = |left: u64| usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
        match &mut self.state {
            State::Bytes(left) => {
                let count = some(*left);
                *left -= count as u64;
                if *left == 0 {
                    self.state = State::Over;
                }
                Ok(count)
            }
            State::Chunk(left) => {
                let count = some(*left);
                *left -= count as u64;
                if *left == 0 {
                    self.state = State::ChunkEnd(Vec::new());
                }
                Ok(count)
            }
            State::Size(line) | State::ChunkEnd(line) | State::Trailer(line) => {
                line.push(bytes[0]);
                if line.len() > LONGEST_LINE {
                    return Err(Malformed);
                }
                if bytes[0] == b'\n' {
                    self.state = self.after_line()?;
                }
                Ok(1)
            }
            State::Over => Ok(0),
        }
    }

    /// What follows a line that came completely.
    fn after_line(&self) -> Result<State, Malformed> {
        match &self.state {
            State::Size(bytes) => match chunk_size(line(bytes)?)? {
                0 => Ok(State::Trailer(Vec::new())),
                size => Ok(State::Chunk(size)),
            },
            State::ChunkEnd(bytes) if line(bytes)?.is_empty() => Ok(State::Size(Vec::new())),
            State::Trailer(bytes) if line(bytes)?.is_empty() => Ok(State::Over),
            State::Trailer(_) => Ok(State::Trailer(Vec::new())),
            State::ChunkEnd(_) | State::Bytes(_) | State::Chunk(_) | State::Over => Err(Malformed),
        }
    }
}

/// A line without its end. Servers may disagree about where one ends otherwise.
fn line(bytes: &[u8]) -> Result<&[u8], Malformed> {
    bytes.strip_suffix(b"\r\n").filter(|line| !line.contains(&b'\r')).ok_or(Malformed)
}

fn chunk_size(line: &[u8]) -> Result<u64, Malformed> {
    let digits = line.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii_end();
    let text = std::str::from_utf8(digits).map_err(|_| Malformed)?;
    let hexadecimal = !text.is_empty() && text.len() <= 15 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if hexadecimal { u64::from_str_radix(text, 16).map_err(|_| Malformed) } else { Err(Malformed) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_ends_where_it_says_however_it_is_cut() {
        for (framing, body) in [
            (Framing::Length(0), &b""[..]),
            (Framing::Length(5), b"12345"),
            (Framing::Chunked, b"5;x=y\r\nhello\r\n1\r\n!\r\n0\r\n\r\n"),
            (Framing::Chunked, b"A\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n"),
        ] {
            let sent = [body, b"GET / HTTP/1.1\r\n"].concat();
            for size in [1, 3, 1000] {
                let mut reader = Body::new(framing);
                let taken: usize = sent.chunks(size).map(|part| reader.take(part).unwrap()).sum();
                assert_eq!((taken, reader.is_over()), (body.len(), true), "{framing:?} {size}");
            }
        }
    }

    #[test]
    fn a_size_that_servers_may_read_differently_is_refused() {
        for line in [
            "+5\r\n",
            "0x5\r\n",
            "-1\r\n",
            "\r\n",
            "5\n",
            "fffffffffffffffff\r\n",
            " 5\r\n",
            "5;x\ry\r\n",
            // Where a chunk or a trailer ends, too.
            "1\r\nx5\r\n",
            "1\r\nx\n5\r\n",
            "1\r\nxy\n",
            "0\r\nx: y\n",
            "0\r\n\r\r\n",
        ] {
            assert_eq!(Body::new(Framing::Chunked).take(line.as_bytes()), Err(Malformed), "{line:?}");
        }
    }
}
