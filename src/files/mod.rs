//! The files of a project: showing, editing, writing and searching them.
//!
//! 1. [`scope`] turns a path as the agent wrote it ([`RequestedPath`]) into an open handle: a [`PathHandle`] on something
//!    that exists, or a [`Target`] to write to. No handle can lie outside the allowed directories.
//! 2. The handle goes into an action ([`ReadFile`], [`WriteFile`], [`SearchFiles`]), and the gate permits the action.
//! 3. [`mod@view`] shows a file or a directory, [`search`] looks for text and names, [`mod@write`] puts content in place
//!    without losing another writer's work, and [`edit`] works out what a partial change means.
//! 4. [`seen`] remembers each file as the session last saw it, so that an edit based on an old version is noticed.
//! 5. [`text`] knows encodings and how lines are shown. [`Interrupt`] ends long work early.
//!
//! Every function here blocks. Callers run it on a thread for blocking work (`tools/file.rs` does).

mod action;
mod edit;
mod error;
mod interrupt;
mod scope;
mod search;
mod seen;
mod settings;
mod text;
mod view;
mod working_directory;
mod write;

pub use action::{Protected, ReadFile, SearchFiles, WriteFile};
pub use edit::{Edited, Editor, ReplaceRequest};
pub use error::FileError;
pub use interrupt::Interrupt;
pub use scope::{DenyGlobs, PathHandle, RequestedPath, Root, Scope, Secrets, Target};
pub use search::{
    FileMatches, FindPage, GrepMode, GrepPage, IgnoredMatches, NameQuery, ResultLine, TextQuery, find, grep,
};
pub use seen::SeenFiles;
pub use settings::Settings;
pub use view::{Converted, Image, LineRange, Looking, Picture, Rendered, convert_picture, view};
pub use working_directory::{DirectoryError, directory_below, real_directory};
pub use write::create;
