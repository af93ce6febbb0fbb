//! What an agent sees of a path. [`mod@view`] decides by the kind of file: numbered lines ([`window`]), an image
//! ([`image`]), the size of any other binary, or the two upper levels of a directory ([`tree`]).

mod image;
mod tree;
mod view;
mod window;

pub use image::Image;
pub use view::{Rendered, view};
pub use window::LineRange;
