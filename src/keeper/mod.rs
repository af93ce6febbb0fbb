//! The processes between the server and a session's commands. No async, no threads, no logging.
//!
//! ```text
//! server ──socket──► guard ──► supervisor ──► keeper ──► reaper (one per command) ──► shell ──► …
//! ```
//!
//! 1. The *guard* ([`guard`]) is our own binary, started again. It stays outside every restriction. It creates the
//!    keeper, changes the session's mounts on request, and kills everything when the server or the keeper is gone.
//!    [`home_mount`] gets the keeper its own home.
//! 2. The *supervisor* ([`supervisor`]) does for commands what the kernel alone cannot judge, such as connecting to a
//!    Unix socket. It stays outside the restrictions, too.
//! 3. The *keeper* ([`keeper`]) restricts itself once, then forks a reaper for each command that the server requests.
//!    It kills what exceeds the limits of the session ([`session_limits`]).
//! 4. A *reaper* ([`reaper`]) starts one command and is its sub-reaper: every orphan of the command becomes the reaper's
//!    child, so the kernel itself tracks which processes belong to the command. The server talks to each reaper over a
//!    socket of its own. A reaper decides nothing: the server times how long a command may take, the reaper obeys.
//!    [`last_moment`] learns how the command ended before the kernel has freed its memory.
//!
//! At the levels without a pid namespace, a *witness* ([`witness`]) is the guard's parent. It cleans up when all of the above
//! were killed at once.
//!
//! [`protocol`] defines every message. [`processes`], [`signals`], [`packets`] and [`descriptors`] are safe wrappers of
//! the system calls that the roles share.

mod descendants;
mod descriptors;
pub mod family;
pub mod guard;
mod home_mount;
mod in_child;
mod input_wait;
mod keeper;
mod last_moment;
mod left_segments;
mod memory;
mod packets;
mod process_table;
pub(crate) mod processes;
pub mod protocol;
mod pty;
mod reaper;
mod session_limits;
mod signals;
pub(crate) mod spawn;
mod supervisor;
mod watched_child;
mod witness;

pub use descendants::reap_strangers;
