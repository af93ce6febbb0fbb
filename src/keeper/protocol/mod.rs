//! The messages between server, guard, keeper and reaper.
//!
//! | from | to | message |
//! |---|---|---|
//! | server | guard | [`GuardRequest`], with a memory file and descriptors |
//! | guard | server | [`HomeReport`], [`DONE`], [`Failed`] |
//! | server | keeper | [`KeeperRequest`], with descriptors |
//! | keeper | server | [`READY`], [`Failed`], [`KeeperNote`], [`SessionUsage`] |
//! | server | reaper | [`Order`] |
//! | reaper | server | [`ReaperEvent`] |
//!
//! Each message is one packet of a sequenced-packet socket, with the descriptors beside it. What may be large (a
//! profile, a list of paths, the description of a command) is in a memory file, and its descriptor is sent.

mod failed;
mod guard_request;
mod home_report;
mod keeper_note;
mod keeper_request;
mod reaper_messages;
mod session_usage;
mod start;

pub use failed::Failed;
pub use guard_request::GuardRequest;
pub use home_report::HomeReport;
pub use keeper_note::KeeperNote;
pub use keeper_request::{Excess, KeeperRequest, LONGEST_REQUEST, MOST_DESCRIPTORS, StartDescriptors};
pub use reaper_messages::{ExitStatus, Order, ReaperEvent, Step};
pub use session_usage::SessionUsage;
pub use start::{Start, TerminalSize};

/// From the keeper, once: it is restricted and can start commands. If the session has a network of its own, the descriptors
/// of [`crate::sandbox::own_network::open`] come with it.
pub const READY: &[u8] = b"ready";

/// Begins a [`Failed`]. From the guard or the keeper instead of [`READY`] when the session could not be restricted; from
/// the guard instead of [`DONE`] when it could not do what it was asked.
const FAILED: &[u8] = b"failed ";

/// From the guard: it has done what it was asked.
pub const DONE: &[u8] = b"done";

/// Begins a [`KeeperNote`].
const NOTE: &[u8] = b"note ";
