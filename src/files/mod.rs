//! The files of a project: looking, editing, making, searching.
//!
//! 1. A path as written becomes an [`Asked`]; the [`Scope`] resolves it to an open handle: an [`Entry`] that exists or a
//!    [`Target`] to write to. Nothing outside the roots can be reached.
//! 2. The handle goes into an action ([`ReadFile`], [`WriteFile`], [`SearchFiles`]), which the gate permits.
//! 3. [`read`] shows ([`window`], [`image`], [`tree`]); [`edit`] and [`mod@create`] go through [`change`], which loses nobody's
//!    work, to [`mod@write`], which is all or nothing; [`mod@search`] and [`mod@find`] go [`hunt`]ing.
//! 4. What an edit means is decided by pure code: [`replace`] (with [`normalise`], [`indent`], [`punctuation`]), and
//!    [`nearest`] when it does not fit.
//!
//! Everything here blocks: callers keep it off the async threads. What can take long asks [`Stop`].

mod action;
mod asked;
mod beneath;
mod change;
mod changes;
mod create;
mod decoder;
mod deny;
mod directory;
mod edit;
mod encoding;
mod entry;
mod error;
mod find;
mod hunt;
mod image;
mod indent;
mod lines;
mod matches;
mod metadata;
mod nearest;
mod normalise;
mod punctuation;
mod query;
mod read;
mod replace;
mod root;
mod same_name;
mod scope;
mod search;
mod seen;
mod settings;
mod snippet;
mod stop;
mod target;
mod tree;
mod walk;
mod window;
mod write;

pub use action::{Protected, ReadFile, SearchFiles, WriteFile};
pub use asked::Asked;
pub use create::create;
pub use decoder::Decoder;
pub use deny::DenyGlobs;
pub use directory::{DirectoryError, directory_below, real_directory};
pub use edit::{Edited, Editor};
pub use encoding::Encoding;
pub use entry::Entry;
pub use error::FileError;
pub use find::{NameQuery, Names, find};
pub use image::Image;
pub use matches::Shown;
pub use query::{Mode, TextQuery};
pub use read::{View, view};
pub use replace::Request as ReplaceRequest;
pub use root::Root;
pub use scope::Scope;
pub use search::{FileMatches, Matches, search};
pub use seen::SeenFiles;
pub use settings::Settings;
pub use stop::Stop;
pub use target::Target;
pub use window::Range as LineRange;
