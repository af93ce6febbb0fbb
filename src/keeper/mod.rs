//! The parent of a session's commands, in processes of their own: no async, no threads, no logging.
//!
//! ```text
//! server ──socket──► guard ──► keeper ──► reaper (one per call) ──► shell ──► …
//! ```
//!
//! 1. The *guard* ([`guard`]) is our own binary started again. It stays outside every restriction, makes the keeper,
//!    and ends everything when either the server's socket or the keeper goes.
//! 2. The *keeper* ([`keep`]) starts a reaper for every request that comes over the socket.
//! 3. A *reaper* ([`reaper`]) is the sub-reaper of exactly one call: whatever the call leaves behind becomes its child,
//!    so "the whole tree" is a thing the kernel keeps for us. It talks to the server over a socket of its own.
//!
//! What travels is in [`protocol`].

mod descendants;
mod guard;
mod keep;
pub mod protocol;
mod reaper;
mod spawn;
mod sys;
mod terminal;
mod usage;
mod waiting;

pub use guard::main;
