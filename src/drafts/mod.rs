//! Drafts: a project is worked on in a layer of its own, and the person takes over what they like.
//!
//! 1. [`Work`] is a server's part: it has the overlay mounted over the project and keeps it while the server lives.
//! 2. [`walk`] compares the upper layer with the person's files, entry by entry. Nothing here trusts what a command may have
//!    put into the layer: every access goes through a handle of the directory above and follows no symbolic link.
//! 3. [`baseline`] remembers what the originals were when the draft began to differ from them.
//! 4. [`mod@changes`] makes the list of changes from that, and `text.rs` and `diff.rs` show it.
//! 5. [`apply`](fn@apply) and [`discard`](fn@discard) use [`transfer`] to carry files from one side to the other.
//!
//! `docs/drafts.md` says what people get, `docs/decisions/drafts.md` why it is built this way.

mod apply;
mod baseline;
mod changes;
mod compare;
mod diff;
mod discard;
mod draft;
mod facts;
mod parents;
mod renames;
mod settle;
mod summary;
mod text;
mod transfer;
mod walk;
mod work;

pub use apply::{Applied, Refused, apply, settle_if_free};
pub use changes::{Change, Sides, changes};
pub use diff::diff;
pub use discard::{Discarded, discard, discard_mounted};
pub use draft::{Draft, Drafts, Selection};
pub use summary::{Grouping, Sum};
pub use text::{described, name, overview, shown_singly};
pub use work::{DraftError, Work};
