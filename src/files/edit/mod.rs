//! Changing a part of a file.
mod editor;
mod indent;
mod near_miss;
mod normalise;
mod punctuation;
mod replace;
mod snippet;

pub use editor::{Edited, Editor};
pub use replace::ReplaceRequest;
