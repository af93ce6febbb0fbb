//! What tells two outputs apart without showing them: the SHA-256 of what is stored of a stream.

use sha2::{Digest, Sha256};

use crate::exec::{Recording, Streams};

/// The digests of stdout and stderr. A terminal has one stream. A stream that is empty has none.
#[derive(Debug, Default)]
pub struct Digests {
    pub stdout: Option<String>,
    pub stderr: Option<String>,
}

/// A call waits for so many bytes at most.
const QUICK: u64 = 64 * 1024;

/// Whether nobody would notice the time that [`digests`] takes.
pub fn is_quick(streams: &Streams) -> bool {
    let length = |recording: &Recording| recording.get().spill.length();
    match streams {
        Streams::Pipes { stdout, stderr } => length(stdout) + length(stderr) <= QUICK,
        Streams::Terminal { raw, .. } => length(raw) <= QUICK,
    }
}

pub fn digests(streams: &Streams) -> Digests {
    match streams {
        Streams::Pipes { stdout, stderr } => Digests { stdout: digest(stdout), stderr: digest(stderr) },
        Streams::Terminal { raw, .. } => Digests { stdout: digest(raw), stderr: None },
    }
}

fn digest(recording: &Recording) -> Option<String> {
    if recording.get().spill.length() == 0 {
        return None;
    }
    let mut hash = Sha256::new();
    recording.each_piece(0, |bytes| hash.update(bytes));
    let digest = hash.finalize();
    let digits = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    Some(digits.filter_map(|digit| char::from_digit(u32::from(digit), 16)).collect())
}
