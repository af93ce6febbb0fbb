//! testudo: a shielded shell for AI agents, over the Model Context Protocol.
//!
//! The map, in reading order:
//!
//! - [`cli`]: what a person types; `serve` is the default.
//! - [`config`]: defaults ⊕ file ⊕ environment ⊕ flags → [`config::Config`].
//! - [`transport`]: the wire; the only place that knows the SDK.
//! - [`server`]: the order of things: [`server::Server::call`] is the path of every request.
//! - [`tools`]: what agents ask for, one file a tool.
//! - [`gate`] and [`policy`]: may it happen? The answer is a [`gate::Permitted`].
//! - [`exec`]: running commands, from permit to result.
//! - [`files`]: showing, editing, making and searching the files in scope.
//! - [`keeper`]: the processes between us and a command, which end it when we go.
//! - [`sandbox`]: what the keeper may do and see, enforced by the kernel.
//! - [`base`]: small things that several of them use.
//!
//! `ARCHITECTURE.md` says what each of them must not do.

pub mod base;
pub mod cli;
pub mod config;
pub mod exec;
pub mod files;
pub mod gate;
pub mod keeper;
pub mod policy;
pub mod reference;
pub mod sandbox;
pub mod server;
pub mod tools;
pub mod transport;
