//! A small file beside the log that says how far it is safely on disk. With it, lines that were cut off the end, and files
//! that were removed, are missed.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::chain::{GENESIS, Tip};

const FILE: &str = "audit.head";

#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Head {
    /// The last line that is on disk for certain, and its hash.
    pub seq: u64,
    pub hash: String,
    /// The number of the first line that is kept. Older ones were removed because there were too many.
    pub oldest: u64,
}

impl Default for Head {
    fn default() -> Self {
        Self { seq: 0, hash: GENESIS.to_owned(), oldest: 1 }
    }
}

impl Head {
    /// `None` if there is none, an error if it cannot be read.
    pub fn read(directory: &Path) -> io::Result<Option<Self>> {
        let mut text = String::new();
        match File::open(directory.join(FILE)) {
            Ok(mut file) => file.read_to_string(&mut text)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        serde_json::from_str(&text).map(Some).map_err(|error| io::Error::other(format!("{FILE}: {error}")))
    }

    /// One write of a few bytes over the old ones, so no reader and no crash sees half of it. The text never gets shorter:
    /// blanks fill it up.
    pub fn write(&self, directory: &Path) -> io::Result<()> {
        let text = format!("{:<160}\n", serde_json::to_string(self)?);
        let path = directory.join(FILE);
        let file = File::options().write(true).create(true).truncate(false).mode(0o600).open(path)?;
        file.write_all_at(text.as_bytes(), 0)
    }

    pub fn tip(&self) -> Tip {
        Tip { seq: self.seq, hash: self.hash.clone() }
    }
}
