//! The API for people: what runs, what waits for an answer, and the means to answer and to stop. `testudo ps`, `watch` and
//! `approve` stand on it.
//!
//! 1. [`Control`] opens the private socket of a server. It takes connections of the same user only, and none that comes
//!    from a command of any server's session.
//! 2. [`api`] has the routes, HTTP with JSON; [`events`] those that go on, as server-sent events. [`types`] is what both
//!    sides speak.
//! 3. [`Remote`] is the other side of one socket, and [`servers`] finds all sockets of the user.
//!
//! The room must not know the protocol of agents, and it decides nothing: answers go to [`crate::server::Questions`].

mod api;
mod events;
mod output_events;
mod remote;
pub mod servers;
mod socket;
pub mod types;

pub use remote::{Message, Remote, RemoteError};
pub use socket::Control;
