//! The layers of private homes, one for each project, below testudo's state directory:
//!
//! ```text
//! homes/<project>/project    the path of the project
//!                 upper/     what commands wrote
//!                 work/      the kernel's
//!                 turn       locked by the one who decides about the layer, for a moment
//!                 use        locked (shared) while any keeper has the layer mounted
//!                 holders/   one file for each server that has it mounted: how others get the same mount
//! ```
//!
//! Nobody but a [`HomeLease`] mounts a layer. Nothing in `upper/` is ever read as configuration or run: only sizes are
//! looked at, and it can be removed.

mod holder;
mod layer;
mod lease;

pub use layer::{HomeLayer, HomeLayers};
pub use lease::HomeLease;
