use super::NOTE;
use crate::base::packed::{Malformed, Reader};

/// From the keeper to the server: it killed a process on its own initiative.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct KeeperNote {
    /// The reaper of the command that the process belonged to; 0 when it was not found.
    pub reaper: i32,
    /// A sentence with the reason.
    pub text: String,
}

impl KeeperNote {
    pub fn encode(&self) -> Vec<u8> {
        [NOTE, &self.reaper.to_le_bytes(), self.text.as_bytes()].concat()
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut rest = Reader(bytes.strip_prefix(NOTE).ok_or(Malformed)?);
        Ok(Self { reaper: rest.number()?, text: String::from_utf8_lossy(rest.0).into_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_survives_the_wire() {
        let note = KeeperNote { reaper: 7, text: "dd was killed".to_owned() };
        assert_eq!(KeeperNote::decode(&note.encode()), Ok(note));
        assert!(KeeperNote::decode(b"ready").is_err());
    }
}
