//! What a command prints: carried out of its pipe, stored complete, shown bounded.
//!
//! - [`recording`] empties a pipe into a [`spill`] (all bytes, on disk when there are many) and a [`view`] (the first
//!   characters, for the model).
//! - [`calls_first`] lets the answers to calls go before the output of tasks.
//! - [`cleaner`] turns bytes into text: no escape sequences, no broken UTF-8. [`mod@line`] is the line that a carriage return
//!   may still overwrite.
//! - [`binary`] tells text from what cannot be shown.
//! - [`disk`] keeps account of what is stored, and makes room.
//! - [`pages`] reads a stored output again: by lines, from the end, or by a pattern.

mod binary;
mod calls_first;
mod cleaner;
mod disk;
mod line;
mod pages;
mod recording;
mod spill;
mod view;

pub use calls_first::call_begins;
pub use disk::{Disk, DiskFull, SessionDisk, StoredFile};
pub use pages::{Page, PageError, Request as PageRequest, page_of_text, read as read_page, read_raw as read_raw_lines};
pub use recording::{OutputListener, Recording, pipe, read_some, record};
pub use spill::{Loss, Spill};
pub use view::{View, clean};
