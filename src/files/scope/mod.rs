//! The directories that file tools may touch, each held as an open handle.
//!
//! - [`RequestedPath`]: a path as the agent wrote it, made absolute.
//! - [`Scope`]: the roots and deny globs in force. It resolves a requested path or refuses it.
//! - [`Root`]: one allowed directory. [`DualPath`]: the name agents have for a path, and the kernel's.
//! - [`beneath`] opens what lies beneath a directory with one `openat2`; [`resolve`] does it one name at a time.
//! - [`DenyGlobs`]: what is out of bounds although it lies beneath a root; [`Secrets`] among it.
//! - The results: a [`PathHandle`] on something that exists, or a [`Target`] to write to.
//! - [`same_name`]: the hint when nothing exists at a path.

pub mod beneath;
mod deny;
mod dual_path;
mod path_handle;
mod requested_path;
mod resolve;
mod root;
mod same_name;
mod scope;
mod secrets;
mod target;

pub use deny::DenyGlobs;
pub use dual_path::DualPath;
pub use path_handle::PathHandle;
pub use requested_path::RequestedPath;
pub use root::Root;
pub use scope::Scope;
pub use secrets::Secrets;
pub use target::{Target, open_to_sync, sync};
