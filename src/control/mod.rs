//! The API for people: what runs, what waits for an answer, and the means to answer, to type and to stop. `testudo ps`, `watch`,
//! `approve` and the console stand on it.
//!
//! 1. [`Control`] opens the private socket of a server. It takes connections of the same user only, and none that comes
//!    from a command of any server's session. [`connections`] serves them, and those of the console's port.
//! 2. [`api`] has the routes, HTTP with JSON; [`events`] those that go on, as server-sent events. [`types`] is what both
//!    sides speak.
//!    A [`Viewer`] says what somebody may see of a server; on the private socket it is its owner.
//! 3. [`Remote`] is the other side of one socket, and [`servers`] finds all sockets of the user.
//!
//! The room must not know the protocol of agents, and it decides nothing: answers go to [`crate::server::Questions`].

mod api;
pub mod connections;
pub mod drafts;
mod events;
mod lines;
mod output_events;
mod remote;
pub mod servers;
mod socket;
mod tail;
pub mod types;
mod typing;
mod viewer;

pub use api::{json, problem, router, state};
pub use events::{KEEP_ALIVE, Teller};
pub use viewer::Viewer;

pub use remote::{Message, Remote, RemoteError};
pub use socket::Control;
