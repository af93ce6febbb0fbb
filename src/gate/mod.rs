//! The one door between wanting and doing. [`Gate::decide`] judges by the policy; what only a person can say becomes a
//! [`Question`]. The gate is the only maker of [`Permitted`]: whatever starts a process or touches a file's content takes
//! one, so a forgotten check does not compile.

mod approvals;
mod gate;
pub mod ledger;
mod machine;
mod permitted;
mod question;
mod surroundings;

pub use approvals::Approvals;
pub use gate::{Answer, Gate, Pending, Refusal};
pub use machine::Machine;
pub use permitted::Permitted;
pub use question::{Decision, Question};
pub use surroundings::Surroundings;
