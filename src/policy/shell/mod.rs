//! Shell text → a small picture of what bash would run, or [`Opaque`].
//!
//! 1. [`prescan`] refuses what no honest text has and what the parser cannot bear: controls, odd blanks, deep nesting.
//! 2. [`worker`] parses on a thread with a large stack, within a deadline, and survives a panic.
//! 3. [`convert`] takes over the kinds of node we know; [`word`] takes words apart, [`braces`] expands `{a,b}`.
//! 4. [`emit`] writes the picture out again. What a rule allows is run in that form, so that a parser which misread
//!    the text cannot have hidden anything: bash reads what was judged.
//!
//! [`substitution`] and [`split`] serve the tools that have their own idea of a command. Nothing here does I/O.

mod ansi;
pub mod ast;
mod braces;
mod convert;
pub mod emit;
mod extent;
mod opaque;
mod prescan;
pub mod split;
pub mod substitution;
mod word;
mod worker;

pub use ast::{Piece, Script, Word};
pub use opaque::Opaque;
pub use worker::parse;
