//! Decides whether an action may happen. [`Gate::decide`] asks the policy; where the policy says `ask`, the gate makes a
//! [`Question`] for a person, and [`Approvals`] remembers what they allowed.
//!
//! Only the gate can make a [`Permitted`]. Everything that starts a process or touches the content of a file takes one,
//! so code that forgets to ask the gate does not compile.
//!
//! 1. A tool describes an action. [`Surroundings`] says where it will happen, [`Machine`] which programs exist.
//! 2. [`Gate::decide`] answers with a [`Ruling`]: permitted, refused, or [`Pending`] until a person decides.
//! 3. [`Approvals`] may already cover the question. Otherwise the server asks the person for a [`Decision`].
//! 4. [`Pending::decided`] turns the decision into a permit or a [`Refusal`].
//!
//! The [`ledger`] shows approvals to other processes of the same user, which can revoke them.

mod approvals;
mod gate;
pub mod ledger;
mod machine;
mod permitted;
mod question;
mod surroundings;

pub use approvals::Approvals;
pub use gate::{Gate, Pending, Refusal, Ruling};
pub use machine::Machine;
pub use permitted::Permitted;
pub use question::{Decision, Question};
pub use surroundings::Surroundings;
