//! Cuts a stream of server-sent events into events, as they come.

use bytes::{Bytes, BytesMut};

#[derive(Default)]
pub struct Events {
    buffer: BytesMut,
    /// Up to here the buffer holds no end of an event.
    searched: usize,
}

/// One event, as it came.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Event {
    pub raw: Bytes,
}

impl Events {
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// How much of an event has come that is not whole yet.
    pub fn pending(&self) -> usize {
        self.buffer.len()
    }

    /// The next whole event.
    pub fn next(&mut self) -> Option<Event> {
        let from = self.searched.saturating_sub(3);
        let Some(end) = end_of_event(&self.buffer[from..]) else {
            self.searched = self.buffer.len();
            return None;
        };
        self.searched = 0;
        Some(Event { raw: self.buffer.split_to(from + end).freeze() })
    }
}

/// Behind the first empty line. Lines end with LF or CRLF.
fn end_of_event(bytes: &[u8]) -> Option<usize> {
    // Most pieces of a long event have no end of a line in them, and this look is by far the fastest.
    if !bytes.contains(&b'\n') {
        return None;
    }
    let lf = bytes.windows(2).position(|two| two == b"\n\n").map(|at| at + 2);
    let crlf = bytes.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4);
    lf.into_iter().chain(crlf).min()
}

impl Event {
    pub fn of(data: &[u8]) -> Self {
        Self { raw: [b"data: ", data, b"\n\n"].concat().into() }
    }

    /// The same event with another message: its id stays, by which a client resumes the stream.
    pub fn with_data(&self, data: &[u8]) -> Self {
        let lines = self.raw.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        let mut raw = Vec::new();
        for line in lines.filter(|line| !line.is_empty() && !line.starts_with(b"data:")) {
            raw.extend_from_slice(line);
            raw.push(b'\n');
        }
        raw.extend_from_slice(b"data: ");
        raw.extend_from_slice(data);
        raw.extend_from_slice(b"\n\n");
        Self { raw: raw.into() }
    }

    /// The message in it; empty if the event is only a comment, or begins a stream.
    pub fn data(&self) -> Bytes {
        let lines = self.raw.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        let mut data =
            lines.filter_map(|line| line.strip_prefix(b"data:")).map(|rest| rest.strip_prefix(b" ").unwrap_or(rest));
        let Some(first) = data.next() else { return Bytes::new() };
        let mut whole = first.to_vec();
        for more in data {
            whole.push(b'\n');
            whole.extend_from_slice(more);
        }
        whole.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_the_same_wherever_the_stream_is_cut() {
        let stream = b": hello\n\nid: 1\ndata: {\"a\":1}\n\ndata:two\r\ndata: lines\r\n\r\ndata:\n\n";
        for step in 1..stream.len() {
            let (mut events, mut found) = (Events::default(), Vec::new());
            for piece in stream.chunks(step) {
                events.push(piece);
                while let Some(event) = events.next() {
                    found.push(String::from_utf8(event.data().to_vec()).unwrap());
                }
            }
            assert_eq!(found, ["", "{\"a\":1}", "two\nlines", ""], "cut every {step} bytes");
        }
    }
}
