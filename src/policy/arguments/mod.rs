//! What the arguments of a program make it do: run another program, write a file, evaluate code.
//!
//! A rule that allows `sort` means sorting, not `sort --compress-program=…`. The tables here describe the programs that can
//! be made to do something else. They list the options that are harmless, and what the other ones do. An option that a
//! table does not list is *unvetted*: it is asked about, unless the rule says `arguments = "any"`. For a program that is in
//! no table, a rule that allows it covers all its arguments.
//!
//! A table entry is a [`Usage`](usage::Usage), for one program or several alike, with its reason:
//!
//! - [`wrappers`] run the command that follows them,
//! - [`interpreters`] run code,
//! - [`writers`] write the files they are told to,
//! - [`tools`] are all other programs,
//! - [`git`] has subcommands of its own.
//!
//! [`mod@vet`] reads the arguments of a command by its entry. The result is a [`Vetted`].

mod git;
mod interpreters;
mod scripts;
mod shells;
mod tools;
mod usage;
mod vet;
mod vetted;
mod wrappers;
mod writers;

pub use vet::tail;
pub use vetted::{Carried, Vetted};

use super::shell::Word;

/// What the arguments make the program do. `None` for a program that is in no table.
pub fn vet(program: &str, arguments: &[Word]) -> Option<Vetted> {
    if program == "git" {
        return Some(git::vet(arguments));
    }
    let tables = [wrappers::TABLE, interpreters::TABLE, writers::TABLE, tools::TABLE];
    let usage = tables.into_iter().flatten().find(|usage| usage.names(program))?;
    Some(vet::by(usage, arguments))
}

#[cfg(test)]
mod tests;
