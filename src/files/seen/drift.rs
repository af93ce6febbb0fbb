use std::path::Path;

use rustix::fs::Stat;

use super::diff::{self, Diff};
use super::{LastSeen, SeenFiles, Signature};
use crate::files::text::Encoding;

const CHANGED: &str = "The file has changed since this session last saw it";

/// How a file has changed since the session last saw it.
#[derive(Debug)]
pub enum Drift {
    /// The session saw the whole file, so the change is known.
    Known {
        /// The text as the session saw it, decoded.
        before: Vec<u8>,
        diff: Diff,
    },
    /// The session did not keep the file, because it is too large. All it can tell is that the file changed.
    Unknown,
}

impl Drift {
    /// Compares a file with what the session saw. `None` if nothing changed, or if the session never saw the file.
    pub fn since_seen(seen: &SeenFiles, path: &Path, content: &[u8], stat: &Stat) -> Option<Self> {
        match seen.last_seen(path)? {
            LastSeen::Content(old) if *old == *content => None,
            LastSeen::Content(old) => {
                let encoding = Encoding::of(content);
                let before = encoding.text_of(&old).into_owned();
                let diff = diff::between(&before, &encoding.text_of(content));
                Some(Self::Known { before, diff })
            }
            LastSeen::Signature(old) => (Signature::of(stat) != old).then_some(Self::Unknown),
        }
    }

    /// What the agent is told about it.
    pub fn note(&self) -> String {
        match self {
            Self::Known { diff, .. } => format!("{CHANGED}:\n{}", diff.text),
            Self::Unknown => format!("{CHANGED}; it is too large to show how."),
        }
    }
}
