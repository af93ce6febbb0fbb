//! Writing files.
//!
//! - [`mod@create`] writes a whole file. (`edit/` changes a part of one.)
//! - [`update`] locks and reads a file, asks for new content and writes it back without losing another writer's work.
//! - [`atomic`] puts the new content in place, all or nothing; [`metadata`] keeps owner, mode and attributes.

mod atomic;
mod create;
mod metadata;
pub mod update;

pub use create::create;
