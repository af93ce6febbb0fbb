//! A command that outlives the call that started it: [`task`] is the command and how far it has been read, [`wait`] waits
//! for something it does, [`typing`] writes to it.

mod task;
mod typing;
mod wait;

pub use task::Task;
pub use typing::{Typing, TypingError};
pub use wait::{Until, WaitEnd};
