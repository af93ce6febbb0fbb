//! Writing files. [`mod@update`] reads a file, asks for new content and puts it in place without losing another writer's
//! work; [`atomic`] does the placing, all or nothing; [`metadata`] keeps owner, mode and attributes. [`mod@create`] writes
//! a whole file, `edit/` changes a part of one.

mod atomic;
mod create;
mod metadata;
pub mod update;

pub use create::create;
