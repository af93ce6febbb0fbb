//! Searching below a directory, on ripgrep's crates.
//!
//! - [`mod@grep`] looks for text in files: a [`TextQuery`] in, a [`GrepPage`] out. [`match_sinks`] receives the matches.
//! - [`mod@find`] looks for names: a [`NameQuery`] in, a [`FindPage`] out. [`name_pattern`] is its glob.
//! - [`walk`] visits the directory tree for both, and [`crew`] shares the tree out among threads.

mod crew;
mod find;
mod grep;
mod match_sinks;
mod name_pattern;
mod text_query;
mod walk;

pub use find::{FindPage, NameQuery, find};
pub use grep::{FileMatches, GrepPage, IgnoredMatches, grep};
pub use match_sinks::ResultLine;
pub use text_query::{GrepMode, TextQuery};
