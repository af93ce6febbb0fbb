//! Reads the name of the server in the first message of a TLS client.

/// What was found so far.
#[derive(Debug, Eq, PartialEq)]
pub enum Hello {
    /// The message has not come completely.
    Unfinished,
    /// The name that the client asks for, if it says one.
    Complete(Option<String>),
    /// It is no such message.
    Broken,
}

/// The first byte of a record that carries this message.
const HANDSHAKE: u8 = 22;
/// A message is not larger than this, or we do not wait for it.
pub const LARGEST: usize = 64 * 1024;

const CLIENT_HELLO: u8 = 1;
const SERVER_NAME: u16 = 0;
const HOST_NAME: u8 = 0;

/// `bytes` is everything that the client has sent.
pub fn read(bytes: &[u8]) -> Hello {
    let mut message = Vec::new();
    let mut rest = bytes;
    // The message may be spread over several records.
    loop {
        if message.first().is_some_and(|kind| *kind != CLIENT_HELLO) {
            return Hello::Broken;
        }
        if let Some(length) = length_of(&message) {
            if length > LARGEST {
                return Hello::Broken;
            }
            if let Some(body) = message.get(4..4 + length) {
                return name(body).map_or(Hello::Broken, Hello::Complete);
            }
        }
        let Some((header, after)) = rest.split_at_checked(5) else {
            let handshake = rest.first().is_none_or(|kind| *kind == HANDSHAKE);
            return if handshake { Hello::Unfinished } else { Hello::Broken };
        };
        let length = usize::from(u16::from_be_bytes([header[3], header[4]]));
        if header[0] != HANDSHAKE || header[1] != 3 || length == 0 {
            return Hello::Broken;
        }
        let Some((record, next)) = after.split_at_checked(length) else { return Hello::Unfinished };
        message.extend_from_slice(record);
        rest = next;
    }
}

fn length_of(message: &[u8]) -> Option<usize> {
    let bytes = message.get(1..4)?;
    Some(usize::from(bytes[0]) << 16 | usize::from(bytes[1]) << 8 | usize::from(bytes[2]))
}

/// `None` if the message is malformed.
#[expect(clippy::option_option, reason = "malformed, without a name, with one")]
fn name(body: &[u8]) -> Option<Option<String>> {
    let mut rest = Fields(body);
    rest.take(2 + 32)?;
    rest.counted(1)?;
    rest.counted(2)?;
    rest.counted(1)?;
    if rest.0.is_empty() {
        return Some(None);
    }
    let mut extensions = Fields(rest.counted(2)?);
    let mut found = None;
    while !extensions.0.is_empty() {
        let kind = u16::from_be_bytes(extensions.take(2)?.try_into().ok()?);
        let content = extensions.counted(2)?;
        if kind != SERVER_NAME {
            continue;
        }
        let mut names = Fields(Fields(content).counted(2)?);
        while !names.0.is_empty() {
            let kind = names.take(1)?[0];
            let name = std::str::from_utf8(names.counted(2)?).ok()?;
            // A server might take either of two names.
            if kind != HOST_NAME || found.replace(name.to_owned()).is_some() {
                return None;
            }
        }
    }
    Some(found)
}

struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    /// A field that begins with its length, in so many bytes.
    fn counted(&mut self, width: usize) -> Option<&'a [u8]> {
        let length = self.take(width)?.iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
        self.take(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counted(width: usize, content: &[u8]) -> Vec<u8> {
        [&content.len().to_be_bytes()[8 - width..], content].concat()
    }

    fn server_name(names: &[&str]) -> Vec<u8> {
        let names: Vec<u8> = names.iter().flat_map(|name| [vec![0], counted(2, name.as_bytes())].concat()).collect();
        [vec![0, 0], counted(2, &counted(2, &names))].concat()
    }

    fn hello(extensions: &[u8]) -> Vec<u8> {
        let body = [&[3, 3][..], &[7; 32], &counted(1, &[]), &counted(2, &[19, 1]), &counted(1, &[0])].concat();
        let body = [body, counted(2, extensions)].concat();
        [vec![1], counted(3, &body)].concat()
    }

    fn records(message: &[u8], size: usize) -> Vec<u8> {
        message.chunks(size).flat_map(|part| [vec![22, 3, 1], counted(2, part)].concat()).collect()
    }

    #[test]
    fn the_name_is_found_however_the_message_is_cut() {
        let other = [vec![0, 16], counted(2, b"\0\x03\x02h2")].concat();
        let message = hello(&[other, server_name(&["example.com"])].concat());
        for size in [1, 5, 40, 4096] {
            let sent = records(&message, size);
            assert_eq!(read(&sent), Hello::Complete(Some("example.com".to_owned())), "{size}");
            for end in 0..sent.len() {
                assert_eq!(read(&sent[..end]), Hello::Unfinished, "{size} {end}");
            }
        }
    }

    #[test]
    fn a_client_without_a_name_or_with_two_is_told_apart() {
        assert_eq!(read(&records(&hello(&[]), 100)), Hello::Complete(None));
        assert_eq!(read(&records(&hello(&server_name(&["a.com", "b.com"])), 100)), Hello::Broken);
        let twice = [server_name(&["a.com"]), server_name(&["b.com"])].concat();
        assert_eq!(read(&records(&hello(&twice), 100)), Hello::Broken);
        assert_eq!(read(b"SSH-2.0"), Hello::Broken);
        assert_eq!(read(&[22, 3, 1, 0, 0]), Hello::Broken);
    }

    proptest! {
        #[test]
        fn rubbish_does_no_harm(bytes: Vec<u8>) {
            let _ = read(&bytes);
            let _ = read(&[vec![22, 3, 1, 0, 40, 1, 0, 0, 36], bytes].concat());
        }
    }
}
