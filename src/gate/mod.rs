//! The one door between wanting and doing. [`Gate::permit`] decides, asks where it must, and is the only maker of
//! [`Permitted`]: whatever starts a process or touches a file's content takes one, so a forgotten check does not compile.

mod gate;
mod machine;
mod permitted;
mod surroundings;

pub use gate::{Gate, Refusal};
pub use machine::Machine;
pub use permitted::Permitted;
pub use surroundings::Surroundings;
