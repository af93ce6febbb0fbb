//! The order of things: [`Server::call`] is the whole path of a request, on one screen.

mod asker;
mod client;
mod clients;
pub mod confinement;
mod context;
mod instructions;
mod keepers;
mod next_shell;
mod progress;
mod roots;
mod server;
mod session;
mod tasks;
mod walks;
mod workplace;

pub use asker::{Asker, GivenAnswer, OpenQuestion};
pub use client::{Attending, Client, ClientId};
pub use clients::Clients;
pub use confinement::Confinement;
pub use context::{Call, Context};
pub use progress::{Progress, ProgressSink};
pub use roots::Roots;
pub use server::{CallError, Server};
pub use session::{Session, StoredOutput};
pub use tasks::Tasks;
pub use workplace::Workplace;
