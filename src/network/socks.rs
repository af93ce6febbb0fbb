//! SOCKS 5 (RFC 1928), as far as it makes connections: without a password, by name or address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::host::{Host, Target};

/// The first byte of a client that speaks it.
pub const VERSION: u8 = 5;

/// The answers to a greeting.
pub const NO_PASSWORD: [u8; 2] = [VERSION, 0];
pub const NO_METHOD: [u8; 2] = [VERSION, 0xff];

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Answer {
    Connected = 0,
    Failed = 1,
    NotAllowed = 2,
    Unreachable = 4,
    UnknownCommand = 7,
    UnknownAddress = 8,
}

impl Answer {
    pub fn encode(self) -> [u8; 10] {
        [VERSION, self as u8, 0, 1, 0, 0, 0, 0, 0, 0]
    }
}

/// Whether the client would do without a password, and the length of its greeting. `None` if that has not come completely.
pub fn greeting(bytes: &[u8]) -> Option<(bool, usize)> {
    let count = usize::from(*bytes.get(1)?);
    let methods = bytes.get(2..2 + count)?;
    Some((methods.contains(&0), 2 + count))
}

/// Where the client wants to go, and the length of its request. `None` if that has not come completely.
pub fn request(bytes: &[u8]) -> Result<Option<(Target, usize)>, Answer> {
    const CONNECT: u8 = 1;
    let Some((&[version, command, _, kind], rest)) = bytes.split_first_chunk::<4>() else { return Ok(None) };
    if version != VERSION || command != CONNECT {
        return Err(Answer::UnknownCommand);
    }
    let (host, length) = match kind {
        1 => {
            let Some((address, _)) = rest.split_first_chunk::<4>() else { return Ok(None) };
            (Host::Address(IpAddr::from(Ipv4Addr::from(*address))), 4)
        }
        4 => {
            let Some((address, _)) = rest.split_first_chunk::<16>() else { return Ok(None) };
            (Host::Address(IpAddr::from(Ipv6Addr::from(*address)).to_canonical()), 16)
        }
        3 => {
            let Some(name) = rest.first().and_then(|count| rest.get(1..1 + usize::from(*count))) else {
                return Ok(None);
            };
            let text = std::str::from_utf8(name).map_err(|_| Answer::UnknownAddress)?;
            (Host::read(text).map_err(|_| Answer::NotAllowed)?, 1 + name.len())
        }
        _ => return Err(Answer::UnknownAddress),
    };
    let Some(port) = rest.get(length..length + 2) else { return Ok(None) };
    let port = u16::from_be_bytes([port[0], port[1]]);
    Ok(Some((Target { host, port }, 4 + length + 2)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_and_addresses_are_read() {
        let ask = |kind: u8, host: &[u8]| [&[5, 1, 0, kind], host, &[1, 187]].concat();
        let named = |name: &str| ask(3, &[&[u8::try_from(name.len()).unwrap()], name.as_bytes()].concat());
        for (bytes, want) in [
            (named("example.com"), "example.com:443"),
            (ask(1, &[127, 0, 0, 1]), "127.0.0.1:443"),
            (ask(4, &Ipv6Addr::LOCALHOST.octets()), "[::1]:443"),
            (ask(4, &Ipv4Addr::LOCALHOST.to_ipv6_mapped().octets()), "127.0.0.1:443"),
        ] {
            let (target, length) = request(&bytes).unwrap().unwrap();
            assert_eq!((target.to_string().as_str(), length), (want, bytes.len()));
            assert!((0..bytes.len()).all(|end| request(&bytes[..end]) == Ok(None)));
        }
        assert_eq!(request(&named("0177.0.0.1")), Err(Answer::NotAllowed));
        assert_eq!(request(&[5, 3, 0, 1, 0, 0, 0, 0, 0, 0]), Err(Answer::UnknownCommand), "UDP");
        assert_eq!(greeting(&[5, 2, 2, 0]), Some((true, 4)));
        assert_eq!(greeting(&[5, 1, 2]), Some((false, 3)));
        assert_eq!(greeting(&[5, 2, 0]), None);
    }

    proptest! {
        #[test]
        fn rubbish_does_no_harm(bytes: Vec<u8>) {
            let _ = (request(&bytes), greeting(&bytes));
        }
    }
}
