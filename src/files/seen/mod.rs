//! What the agent has seen: every file as this session last read or wrote it ([`SeenFiles`]), and how a file has changed
//! since ([`Drift`], with its [`diff`]).

pub mod diff;
mod drift;
mod seen_files;
mod signature;

pub use drift::Drift;
pub use seen_files::{LARGEST_CONTENT, LastSeen, SeenFiles};
pub use signature::Signature;
