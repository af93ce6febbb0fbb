//! Files that no command needs to read: credentials, keys, histories.
//!
//! [`catalogue`] lists them by name. [`Finder`] says where they really are on this machine: behind symbolic links, in a
//! directory that a variable names, in a second mount of the same directory. The result is a list of [`Mask`]s. Level
//! `full` puts something else in the place of each; level `landlock` does not grant access to it. [`Watch`] notices that
//! the list may have changed.

mod catalogue;
mod finder;
mod mask;
mod names;
mod settings_copies;
mod watch;

pub use finder::Finder;
pub use mask::{Mask, Shows, decode, encode, read};
pub use names::Names;
pub use settings_copies::write as write_settings_copies;
pub use watch::{Stamped, Watch};
