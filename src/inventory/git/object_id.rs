use sha1::{Digest, Sha1};
use sha2::Sha256;

/// The name of a git object: the hash of its content.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum ObjectId {
    Sha1([u8; 20]),
    Sha256([u8; 32]),
}

/// How a repository names its objects.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum ObjectFormat {
    #[default]
    Sha1,
    Sha256,
}

impl ObjectFormat {
    /// Bytes of an id.
    pub fn length(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
        }
    }

    pub fn id(self, bytes: &[u8]) -> Option<ObjectId> {
        match self {
            Self::Sha1 => bytes.try_into().ok().map(ObjectId::Sha1),
            Self::Sha256 => bytes.try_into().ok().map(ObjectId::Sha256),
        }
    }

    /// Reads the id at the beginning of a text.
    pub fn hex(self, text: &[u8]) -> Option<ObjectId> {
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let digits = text.get(..self.length() * 2)?;
        let bytes: Option<Vec<u8>> =
            digits.chunks(2).map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect();
        self.id(&bytes?)
    }

    /// The id of an object with this content.
    pub fn of(self, kind: &str, content: &[u8]) -> ObjectId {
        let head = format!("{kind} {}\0", content.len());
        match self {
            Self::Sha1 => ObjectId::Sha1(Sha1::new().chain_update(head).chain_update(content).finalize().into()),
            Self::Sha256 => ObjectId::Sha256(Sha256::new().chain_update(head).chain_update(content).finalize().into()),
        }
    }
}

impl ObjectId {
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Sha1(bytes) => bytes,
            Self::Sha256(bytes) => bytes,
        }
    }
}

impl std::fmt::Display for ObjectId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
