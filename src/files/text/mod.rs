//! Text in files: how it is encoded, and how lines are shown to an agent.

mod decoder;
mod encoding;
pub mod numbered_lines;

pub use decoder::Decoder;
pub use encoding::Encoding;
