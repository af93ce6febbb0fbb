//! The order of things: [`Server::call`] is the whole path of a request, on one screen.
//!
//! - Who asks: [`Client`] has [`Session`]s and, from its roots and the flags, a [`Workplace`].
//! - What the configuration comes to: a [`Setup`], and for each session the [`Basis`] that it began with. [`Reload`] follows
//!   the file.
//! - What a tool gets: a [`Context`], to ask for permission ([`Context::permit`]) and to run commands ([`command`]).
//! - What a tool gives back: a [`ToolOutput`] or a [`Stop`] ([`outcome`]).
//! - What people see: [`CallRecord`] writes the audit log, [`Activity`] lists the commands that run, [`Questions`] those that
//!   wait for an answer.
//! - What runs at most once: [`KnownCalls`] has the calls with an id that run, and returns the records of the others.
//! - Where commands run: [`Profiles`] describes the restrictions, [`Enforcement`] is what this machine can hold,
//!   [`KeeperLife`] makes and replaces keepers, [`SpareSession`] keeps the next session ready, [`Homes`] gives
//!   each project its own home, [`Secrets`] knows what is secret now, [`NameWatch`] looks after protected names.
//! - What commands reach: [`Hosts`] decides about hosts, [`Proxies`] serves keepers, [`Connections`] lists what
//!   they reached, [`PublishedPorts`] shows their servers.

mod activity;
mod asker;
mod basis;
mod call_result;
mod client;
mod clients;
pub mod command;
mod command_error;
mod command_output;
mod connections;
mod context;
mod digest;
mod disk_watch;
mod enforcement;
mod granted;
mod homes;
mod hosts;
mod hung_mounts;
mod ids;
mod instructions;
mod keep_change;
mod keeper_life;
mod kept_output;
mod known_calls;
mod name_watch;
mod notes;
mod outcome;
mod profiles;
mod progress;
mod protected_names;
mod proxies;
mod published_ports;
mod questions;
mod record;
mod reload;
mod roots;
mod running_commands;
mod scope_watch;
mod secrets;
mod server;
mod session;
mod setup;
mod spare_keeper;
mod spare_session;
mod start;
mod stored_outputs;
mod tasks;
mod tool_entry;
mod waiting_shells;
mod workplace;

pub use activity::{Activity, RunningCommand};
pub use asker::{Asker, GivenAnswer, OpenQuestion};
pub use basis::Basis;
pub use call_result::CallResult;
pub use client::{Attending, Client, ClientId};
pub use clients::Clients;
pub use command::Command;
pub use command_output::CommandOutput;
pub use connections::{Connections, SeenHost};
pub use context::{Call, Context};
pub use enforcement::Enforcement;
pub use homes::Homes;
pub use hosts::Hosts;
pub use hung_mounts::answers;
pub use ids::Ids;
pub use instructions::sandbox_in_words;
pub use keeper_life::KeeperLife;
pub use known_calls::{Known, KnownCalls};
pub use name_watch::NameWatch;
pub use notes::Notes;
pub use outcome::{Content, Stop, ToolError, ToolOutput};
pub use profiles::Profiles;
pub use progress::{Progress, ProgressSink};
pub use protected_names::ProtectedNames;
pub use proxies::Proxies;
pub use published_ports::PublishedPorts;
pub use questions::{Answers, Approver, PATIENCE, Question, Questions, Settled, TooLate};
pub use record::CallRecord;
pub use reload::Reload;
pub use roots::Roots;
pub use secrets::Secrets;
pub use server::{CallError, Server};
pub use session::Session;
pub use setup::{Setup, SetupError};
pub use spare_keeper::SpareKeeper;
pub use spare_session::SpareSession;
pub use start::Start;
pub use stored_outputs::StoredOutput;
pub use tasks::Tasks;
pub use tool_entry::{BoxedRun, Hints, ToolEntry};
pub use workplace::Workplace;
