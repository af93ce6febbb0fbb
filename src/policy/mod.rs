//! Who may do what: pure judgement, no I/O, no async.
//!
//! A tool describes what it is about to do as an [`Action`]; [`Policy::judge`] answers with a [`Judgement`]. Asking the
//! person and recording the answer is the gate's work, not ours.
//!
//! 1. [`shell`] turns the text into a picture of what bash would run, or says that it cannot.
//! 2. [`judge`] walks the picture: every command, assignment and redirection, and through wrappers to what they run.
//! 3. [`Rule`]s name commands; [`arguments`] knows what the arguments of some programs make them do.
//! 4. The strictest verdict of all that was found is the answer. What cannot be understood is never allowed.

pub mod action;
mod allowed_commands;
mod arguments;
mod builtins;
mod judge;
mod judgement;
mod policy;
mod program;
mod programs;
mod rule;
mod scene;
mod settings;
pub mod shell;
mod tool_lists;
mod variables;
mod verdict;
mod write_targets;

pub use action::{Action, Subject};
pub use allowed_commands::AllowedCommands;
pub use judgement::{Finding, Judgement};
pub use policy::Policy;
pub use programs::Programs;
pub use rule::{Rule, RuleError};
pub use scene::Scene;
pub use settings::{RuleSettings, Settings};
pub use verdict::Verdict;
