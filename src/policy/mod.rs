//! Which actions are allowed. The policy only judges: no I/O, no async.
//!
//! A tool describes what it wants to do as an [`Action`]. [`Policy::judge`] answers with a [`Judgement`]. The gate asks
//! people and makes permits; the policy knows nothing about either.
//!
//! 1. [`shell`] parses the text into a tree of the commands that bash would run, or says why it cannot.
//! 2. [`judge`] walks through the tree: every command, assignment and redirection, and the commands that wrappers run.
//! 3. A [`Rule`] names commands. [`arguments`] and [`builtins`] know what the arguments of a command make it do,
//!    [`variables`] and [`write_targets`] what an assignment or a written file can do. [`safe`] is the list of commands that
//!    only look.
//! 4. Each of these gets a [`Finding`], and the strictest [`Verdict`] is the judgement. A text that is not understood is
//!    never allowed.
//!
//! `docs/policy.md` describes the policy for the people who write rules.

pub mod action;
mod allowed_commands;
mod arguments;
mod builtins;
mod finding;
mod judge;
mod judgement;
mod policy;
mod program;
mod program_lookup;
mod rule;
pub mod safe;
mod scene;
mod settings;
pub mod shell;
mod tool_lists;
mod variables;
mod verdict;
mod write_targets;

pub use action::{Action, Subject};
pub use allowed_commands::AllowedCommands;
pub use finding::Finding;
pub use judgement::Judgement;
pub use policy::Policy;
pub use program_lookup::ProgramLookup;
pub use rule::{Grant, Rule, RuleError};
pub use scene::{Overlaid, Scene};
pub use settings::{RuleSettings, Settings};
pub use verdict::Verdict;

#[cfg(test)]
mod tests;
