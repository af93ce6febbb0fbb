//! What became of calls that have an id. A caller that lost its connection repeats the call with the same id and learns
//! the truth; nothing runs a second time. [`CallId`] is the id, [`Digest`] tells calls with one id apart, [`Store`] keeps
//! their records in files, which outlive the server.
//!
//! This room knows nothing of tools, sessions or the wire: a result is text here. No async.

mod call_id;
mod digest;
mod store;
mod sweep;

pub use call_id::{BadCallId, CallId};
pub use digest::Digest;
pub use store::{Claim, ClaimError, Key, Record, Store};
