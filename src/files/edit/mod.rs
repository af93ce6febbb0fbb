//! Changing a part of a file: replacing text and inserting lines.
//!
//! [`Editor`] does the reading, checking and writing, with [`large`] for large files. The rest is pure (text in, plan out) and
//! tested by tables and properties:
//!
//! 1. [`replace`] plans a replacement: the exact match, else the only match among the [`candidate`]s, which [`normalise`]
//!    finds by ignoring a [`difference`] in style. [`insert`] plans an insertion.
//! 2. [`file_style`] writes the new lines in the style of the file, with [`indent`] and [`punctuation`].
//! 3. [`splice`] puts the planned bytes into the file, and [`snippet`] shows the changed lines.
//! 4. [`near_miss`] diagnoses why a text was not found: [`nearest_region`] says where it almost matches (by [`similarity`]
//!    if need be), and [`line_difference`] how a line differs.
//!
//! [`lines`] takes a line apart for all of them, and [`places`] counts where a text occurs.
//!
//! A text or file may be as large as a request or `--max-file-size` allows, and may be made to be slow. So every step takes
//! one pass, keeps no record per line or match, and is bounded before it begins.

mod candidate;
mod difference;
mod editor;
mod file_style;
mod indent;
mod insert;
mod large;
mod line_difference;
mod lines;
mod near_miss;
mod nearest_region;
mod normalise;
mod places;
mod punctuation;
mod replace;
mod similarity;
mod snippet;
mod splice;

pub use editor::{Edited, Editor};
pub use replace::ReplaceRequest;
