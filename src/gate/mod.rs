//! Decides whether an action may happen. [`Gate::decide`] asks the policy; where the policy says `ask`, the gate makes a
//! [`Question`] for a person, and [`Approvals`] remembers what they allowed.
//!
//! Only the gate can make a [`Permitted`]. Everything that starts a process or touches the content of a file takes one,
//! so code that forgets to ask the gate does not compile.
//!
//! 1. A tool describes an action. [`Surroundings`] says where it will happen, [`Machine`] which programs exist.
//! 2. [`Gate::decide`] answers with a [`Ruling`] (in a [`Decided`], for the audit log): permitted, refused, or [`Pending`] until a person decides.
//! 3. [`Approvals`] may already cover the question. Otherwise the server shows the person its [`Form`], in which [`shown`]
//!    keeps the agent's text apart from ours.
//! 4. [`Pending::answered`] turns the [`Answer`] into a permit or a [`Refusal`].
//!
//! The [`ledger`] shows approvals to other processes of the same user, which can revoke them. It also keeps those that are
//! for good.

mod answer;
mod approvals;
mod decision;
mod gate;
pub mod ledger;
mod machine;
mod permitted;
mod question;
mod shown;
mod surroundings;

pub use answer::Answer;
pub use approvals::Approvals;
pub use decision::{Decision, Topic};
pub use gate::{Decided, Gate, Pending, Refusal, Ruling};
pub use machine::Machine;
pub use permitted::Permitted;
pub use question::{Choice, Form, Question};
pub use surroundings::Surroundings;
