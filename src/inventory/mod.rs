//! Everything in the scope that programs outside the sandbox run or trust, known by content and identity. Whenever commands
//! have run, the inventory is taken again and every difference is judged; which event caused it does not matter.
//!
//! 1. [`tree`] remembers the directories and reads again those that have changed. [`survey`] finds protected names in them,
//!    and whatever git would take for a repository.
//! 2. [`item`] compares what lies there with what is known of it.
//! 3. [`judge`] accepts a change or has it undone ([`undo`]). [`window`] tells when a command can have made it, [`trust`] and
//!    [`git`] which content may stand: the person's own, and what the repository held when the session began.
//!    [`suspects`] gives a command that still runs a little time.
//! 4. [`report`] tells the agent, and what to ask the person.
//!
//! No async and no logging. [`root`] is the only file that changes anything on disk.

mod entry;
mod git;
#[expect(clippy::module_inception, reason = "the file is named after the type it holds")]
mod inventory;
mod item;
mod judge;
pub mod report;
mod root;
mod survey;
mod suspects;
#[cfg(test)]
mod tests;
mod tree;
mod trust;
mod undo;
mod window;

pub use git::git_role;
pub use inventory::Inventory;
pub use report::{Report, Undone};
pub use window::{Span, Window};
