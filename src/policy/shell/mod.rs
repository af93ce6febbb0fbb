//! Parses shell text into a small tree ([`ast`]) of the commands that bash would run, or says why it cannot ([`Opaque`]).
//!
//! 1. [`prescan`] refuses control characters, misleading characters and deep nesting.
//! 2. [`worker`] parses on a thread with a large stack, within a deadline, and survives a panic.
//! 3. [`convert`] turns the parser's tree into ours. [`word`] splits words into pieces, [`braces`] expands `{a,b}`,
//!    [`extent`] finds closing brackets, [`ansi`] decodes `$'…'`.
//! 4. [`emit`] writes the tree out again. A command that a rule allows is run in that form. If the parser has misread the
//!    original, bash still runs exactly what was judged.
//!
//! [`substitution`] and [`split`] are for the tools `run_shell_command` and `execute_command`. Nothing here does I/O.

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
