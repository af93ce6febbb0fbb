//! Running commands: what the server does on its side of the keeper's socket.
//!
//! 1. [`shell`] turns text into a command whose cwd and variables come back over a private channel ([`state`]).
//! 2. [`keeper`] has the session's keeper start it; [`process`] is the handle to the running tree.
//! 3. [`stream`] carries each pipe into [`store`] (complete, on disk) and [`view`] (bounded, for the model).
//! 4. [`run`] waits for the end: exit, timeout or cancel, always by exit status, never by the end of a pipe.

mod clean;
mod descriptors;
mod environment;
mod input;
mod keeper;
pub mod keys;
mod login;
mod memory;
mod pages;
mod process;
mod report;
mod run;
mod secret_names;
mod settings;
mod shell;
mod socket;
mod state;
mod store;
mod stream;
mod task;
mod terminal;
mod view;
mod warm;
mod watched;

pub use crate::keeper::protocol::ExitStatus;
pub use clean::clean;
pub use descriptors::raise_descriptor_limit;
pub use environment::{Settings as EnvironmentSettings, initial as initial_environment};
pub use input::{Input, InputError};
pub use keeper::{Keeper, KeeperError};
pub use login::{Login, wanted as login_shell_wanted};
pub use memory::give_back_large_blocks;
pub use pages::{Page, PageError, Request as PageRequest, page_of_text, read as read_page};
pub use process::{Exited, Process};
pub use run::{Ending, Place, Running, Stdin, Streams, spawn, spawn_terminal, spawn_words};
pub use secret_names::looks_secret;
pub use settings::{OutputSettings, Settings, TaskSettings};
pub use shell::Shell;
pub use state::ShellState;
pub use store::{Loss, Store};
pub use stream::{LineListener, Recording};
pub use task::{Task, Until, Waited};
pub use view::View;
pub use warm::{WarmShell, is_stale};
