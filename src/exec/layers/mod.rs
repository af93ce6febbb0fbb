//! What commands write over a directory that is not theirs: over the home (`homes/`), and over the project if it is worked on
//! as a draft (`drafts/`). Each project has a layer of each kind, below testudo's state directory:
//!
//! ```text
//! homes/<project>/project    the path of the project
//!                 upper/     what commands wrote
//!                 work/      the kernel's
//!                 turn       locked by the one who decides about the layer, for a moment
//!                 use        locked (shared) while a server, or the guard of a session, has the layer mounted
//!                 holders/   one file for each server that has it mounted: how others get the same mount
//! ```
//!
//! Nobody but a [`LayerLease`] mounts a layer. Nothing in `upper/` is ever read as configuration or run.

mod holder;
mod layer;
mod lease;

pub use layer::{ProjectLayer, ProjectLayers};
pub use lease::LayerLease;
