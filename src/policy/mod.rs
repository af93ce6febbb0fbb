//! Who may do what: pure judgement, no I/O, no async.
//!
//! A tool describes what it is about to do as an [`Action`]; [`Policy::judge`] answers with a [`Judgement`]. Asking the
//! person and recording the answer is the gate's work, not ours.

pub mod action;
mod policy;
mod rule;
mod settings;
mod shell;
mod verdict;

pub use action::{Action, Subject};
pub use policy::{Judgement, Policy};
pub use rule::{Rule, RuleError};
pub use settings::Settings;
pub use verdict::Verdict;
