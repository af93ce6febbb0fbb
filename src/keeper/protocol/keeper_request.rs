use std::os::fd::OwnedFd;

use crate::base::packed::{Malformed, Reader};

/// What the server asks the keeper.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum KeeperRequest {
    /// Start a command; [`StartDescriptors`] come with the request. [`super::Start::request`] makes it.
    Start {
        /// Which of the extra descriptors the command waits on: see [`super::Start::waits_on`].
        waits_on: Option<usize>,
    },
    /// Test the sandbox from inside, and write the findings to the one descriptor that comes with the request.
    Probe,
    /// Send unconnected sockets of the session's network, to the one descriptor that comes with the request.
    Sockets,
    /// Kill this reaper, which does not answer, and with it its command.
    Kill { reaper: i32 },
    /// Kill the process or the command that uses most of this, although the session is within its own limits.
    Shed { excess: Excess, reason: String },
}

/// What the server finds that there is too much of.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Excess {
    Memory,
    Processes,
    Disk,
}

/// The receiver reserves room for so many bytes. A longer reason would be cut.
pub const LONGEST_REQUEST: usize = 512;

/// More than any request needs. The receiver reserves room for so many.
pub const MOST_DESCRIPTORS: usize = 12;

impl KeeperRequest {
    pub fn encode(&self) -> Vec<u8> {
        let (tag, value, text) = match self {
            Self::Start { waits_on } => (b'S', waits_on.and_then(|index| i32::try_from(index).ok()).unwrap_or(-1), ""),
            Self::Probe => (b'P', 0, ""),
            Self::Sockets => (b'N', 0, ""),
            Self::Kill { reaper } => (b'K', *reaper, ""),
            Self::Shed { excess, reason } => (b'E', *excess as i32, reason.as_str()),
        };
        [&[tag], value.to_le_bytes().as_slice(), text.as_bytes()].concat()
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let (tag, rest) = bytes.split_first().ok_or(Malformed)?;
        match tag {
            b'S' => Ok(Self::Start { waits_on: usize::try_from(Reader(rest).number()?).ok() }),
            b'P' => Ok(Self::Probe),
            b'N' => Ok(Self::Sockets),
            b'K' => Ok(Self::Kill { reaper: Reader(rest).number()? }),
            b'E' => {
                let mut rest = Reader(rest);
                let excess = match rest.number()? {
                    0 => Excess::Memory,
                    1 => Excess::Processes,
                    _ => Excess::Disk,
                };
                Ok(Self::Shed { excess, reason: String::from_utf8_lossy(rest.0).into_owned() })
            }
            _ => Err(Malformed),
        }
    }
}

/// The descriptors of [`KeeperRequest::Start`], in the order in which the server sends them.
pub struct StartDescriptors {
    /// A memory file with the encoded [`super::Start`].
    pub description: OwnedFd,
    /// The reaper's socket to the server.
    pub control: OwnedFd,
    /// Stdin, stdout and stderr of the command.
    pub standard: [OwnedFd; 3],
    /// Further descriptors of the command; [`super::Start::extra`] has their numbers.
    pub extra: Vec<OwnedFd>,
}

impl StartDescriptors {
    /// `None` when there are too few.
    pub fn received(descriptors: Vec<OwnedFd>) -> Option<Self> {
        let mut rest = descriptors.into_iter();
        let (description, control) = (rest.next()?, rest.next()?);
        let standard = [rest.next()?, rest.next()?, rest.next()?];
        Some(Self { description, control, standard, extra: rest.collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_survive_the_wire() {
        for request in [
            KeeperRequest::Start { waits_on: None },
            KeeperRequest::Start { waits_on: Some(0) },
            KeeperRequest::Start { waits_on: Some(3) },
            KeeperRequest::Probe,
            KeeperRequest::Sockets,
            KeeperRequest::Kill { reaper: 7 },
            KeeperRequest::Shed { excess: Excess::Disk, reason: "it is full".to_owned() },
        ] {
            assert_eq!(KeeperRequest::decode(&request.encode()), Ok(request));
        }
        assert_eq!(KeeperRequest::decode(b""), Err(Malformed));
        assert_eq!(KeeperRequest::decode(b"S"), Err(Malformed));
    }
}
