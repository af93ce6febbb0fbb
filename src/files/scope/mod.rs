//! The directories that file tools may touch, each held as an open handle.
//!
//! - [`RequestedPath`]: a path as the agent wrote it, made absolute.
//! - [`Scope`]: the roots and deny globs in force. It resolves a requested path, or refuses it.
//! - [`Root`]: one allowed directory.
//! - [`beneath`]: opens what lies beneath a directory with one `openat2`; [`resolve`] does the same one name at a time.
//! - [`DenyGlobs`]: what is out of bounds although it lies beneath a root.
//! - [`PathHandle`] and [`Target`]: the results, something that exists and a place to write to.
//! - [`same_name`]: the hint when nothing exists at the path.

pub mod beneath;
mod deny;
mod path_handle;
mod requested_path;
mod resolve;
mod root;
mod same_name;
mod scope;
mod target;

pub use deny::DenyGlobs;
pub use path_handle::PathHandle;
pub use requested_path::RequestedPath;
pub use resolve::is_still;
pub use root::Root;
pub use scope::Scope;
pub use target::{Target, sync_directory};
