//! Text in files: how it is encoded ([`Encoding`], [`Decoder`]), and how lines are shown to an agent ([`numbered_lines`]).

mod decoder;
mod encoding;
pub mod numbered_lines;

pub use decoder::Decoder;
pub use encoding::Encoding;
