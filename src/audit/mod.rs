//! The audit log: one JSON line for everything that an agent asked for and everything that came of it, kept after the
//! window of the agent is closed. `docs/audit.md` is its page for people.
//!
//! 1. [`Event`] is what happened, and [`Who`] for whom. [`Log::record`] puts both into a queue and returns at once.
//! 2. A thread of the [`Log`] takes what has gathered, [redacts](mod@redact) it, links each line to the one before it
//!    ([`chain`]), and appends all of it with one write ([`store`]).
//! 3. [`reader`] reads the lines again, and [`mod@verify`] finds the first one that was tampered with.
//!
//! Several servers append to one file: a lock is held while the end of the chain is looked up and extended. This room knows
//! nothing of sessions, tools or the wire.

mod chain;
mod event;
mod head;
mod line;
mod log;
mod queue;
pub mod reader;
pub mod redact;
mod settings;
mod store;
pub mod verify;

pub use event::{Event, Who};
pub use line::Entry;
pub use log::Log;
pub use settings::Settings;
pub use store::{FILE, size, try_out};
