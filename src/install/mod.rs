//! Registers the server with MCP clients, by an entry in each client's own configuration file.
//!
//! 1. [`CLIENTS`] is the table of clients: where their file lies ([`Location`]), its [`Format`], and the [`Shape`] of an entry.
//! 2. [`Registration`] reads a file and works out the [`Change`]: to install, or to take the entry back.
//! 3. [`edit`] changes the text of the file, and nothing in it but the entry.
//! 4. [`Change::write`] keeps a backup and puts the new content in place at once.
//!
//! The room prints nothing and reads no environment: a [`Machine`] says where it works.

mod change;
mod client;
mod edit;
mod error;
mod item;
mod location;
mod machine;
mod registration;
mod shape;

pub use change::{Change, backup_of};
pub use client::{CLIENTS, Client, named};
pub use edit::Format;
pub use error::InstallError;
pub use item::Item;
pub use location::Location;
pub use machine::{Machine, Platform};
pub use registration::{Found, Registration, Scope};
pub use shape::Shape;

/// The name of our entry in every client's configuration.
pub const ENTRY: &str = "testudo";
