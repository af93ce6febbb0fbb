//! What the agent has seen: each file as this session last read or wrote it ([`SeenFiles`]), and what became of it since.

pub mod diff;
pub mod seen_files;

pub use seen_files::SeenFiles;
