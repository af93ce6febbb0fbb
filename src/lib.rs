//! testudo: a shielded shell for AI agents, over the Model Context Protocol.
//!
//! The map, in reading order:
//!
//! - [`cli`]: what a person types; `serve` is the default. The only room that prints.
//! - [`config`]: defaults, file, environment and flags → [`config::Config`]. `defaults.toml` is the manual.
//! - [`transport`]: the wire, stdio and HTTP; the only place that knows the SDK.
//! - [`install`]: registers the server with clients, in their own configuration files.
//! - [`console`]: the page on which people see and decide, on that API.
//! - [`control`]: the API for people, on a private socket: what runs, what waits for an answer.
//! - [`tools`]: what agents ask for: one file per tool, its arguments and the text of its result.
//! - [`server`]: the order of things. [`server::Server::call`] is the path of every request,
//!   [`server::command`] the path of every command.
//! - [`gate`] and [`policy`]: may it happen? The answer is a [`gate::Permitted`].
//! - [`audit`]: one line for everything that happens, linked so that tampering shows.
//! - [`records`]: what became of calls that have an id, so that none runs twice.
//! - [`drafts`]: what agents changed in a layer over the project, and taking it over or dropping it.
//! - [`exec`]: starts commands through the keeper, records their output, ends their trees.
//! - [`files`]: shows, edits, writes and searches the files in scope.
//! - [`inventory`]: what programs outside the sandbox trust in the scope, compared after commands.
//! - [`keeper`]: guard, keeper and reaper: the processes between the server and a command.
//! - [`network`]: which hosts commands may reach, and the proxy that takes them there.
//! - [`sandbox`]: what the kernel lets a session's commands do and see.
//! - [`base`]: small things that several rooms use.
//!
//! `ARCHITECTURE.md` says what each room must not know, and where to add to it.

pub mod audit;
pub mod base;
pub mod cli;
pub mod config;
pub mod console;
pub mod control;
pub mod drafts;
pub mod exec;
pub mod files;
pub mod gate;
pub mod install;
pub mod inventory;
pub mod keeper;
pub mod network;
pub mod policy;
pub mod records;
pub mod reference;
pub mod sandbox;
pub mod server;
pub mod tools;
pub mod transport;
