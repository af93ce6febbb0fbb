//! What the arguments of a program make it do: run another program, write a file, evaluate code.
//!
//! A rule that allows `sort` means sorting, not `sort --compress-program=…`. The tables here describe the programs that can
//! be made to do something else. They list the options that are harmless, and what the other ones do. An option that a
//! table does not list is *unvetted*: it is asked about, unless the rule names these very words or says `arguments =
//! "any"`. For a program that is in no table, a rule that allows it covers all arguments but those that name a program
//! ([`unknown`]).
//!
//! A table entry is a [`Usage`], for one program or several alike, with its reason:
//!
//! - [`wrappers`] run the command that follows them,
//! - [`interpreters`] run code,
//! - [`writers`] write the files they are told to,
//! - [`tools`] are all other programs,
//! - [`git`] and the package managers ([`packages`]) have subcommands of their own.
//!
//! [`mod@vet`] reads the arguments of a command by its entry. The result is a [`Vetted`].

mod awk;
mod git;
mod interpreters;
mod packages;
mod scripts;
mod shells;
mod tools;
mod unknown;
mod usage;
mod vet;
mod vetted;
mod wrappers;
mod writers;

pub use usage::{Operands, Usage};
pub use vet::{by, tail};
pub use vetted::{Carried, Vetted};

use super::shell::Word;
use usage::{Style, lists};

/// What the arguments make the program do.
pub fn vet(program: &str, arguments: &[Word]) -> Vetted {
    if program == "git" {
        return git::vet(arguments);
    }
    match entry(program) {
        Some(usage) => vet::by(usage, arguments),
        None => packages::vet(program, arguments).unwrap_or_else(|| unknown::vet(arguments)),
    }
}

/// Whether the option is one word for this program, as `-exec` is for `find`, and not letters written together.
pub fn is_one_option(program: &str, option: &str) -> bool {
    let listed = |usage: &Usage| {
        let effects = usage.effects.iter().map(|(name, _)| *name);
        usage.style == Style::Words
            || lists(usage.flags, option)
            || lists(usage.values, option)
            || effects.into_iter().any(|name| name == option)
    };
    entry(program).is_some_and(listed)
}

fn entry(program: &str) -> Option<&'static Usage> {
    let tables = [wrappers::TABLE, interpreters::TABLE, writers::TABLE, tools::TABLE, &[packages::GO]];
    tables.into_iter().flatten().find(|usage| usage.names(program))
}

#[cfg(test)]
mod tests;
