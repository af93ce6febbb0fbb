//! What an agent sees of a path. [`mod@view`] decides by the kind of file: numbered lines ([`window`]), an image
//! ([`image`]), the size of any other binary, or the two upper levels of a directory ([`tree`]). [`mod@convert`] turns an image
//! that models do not take into one that they do, and [`svg`] draws.

mod convert;
mod image;
mod svg;
mod tree;
mod view;
mod window;

pub use convert::{Converted, convert as convert_picture};
pub use image::{Image, Picture};
pub use view::{Looking, Rendered, view};
pub use window::LineRange;

/// How many characters one reply has. Clients cut longer ones where it suits them.
const MOST_CHARACTERS: usize = 50_000;
