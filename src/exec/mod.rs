//! Running commands: what the server does on its side of the keeper's socket.
//!
//! 1. [`shell`] turns text into a command whose cwd and variables come back over a private channel.
//! 2. [`mod@spawn`] sets up the pipes or the terminal and has the session's keeper start the command, through its
//!    [`keeper_link`]. [`process`] is the handle to the running tree; it also knows how a tree is ended (TERM, 5 s, KILL).
//! 3. [`output`] records each stream: complete on disk, bounded for the model.
//! 4. [`running`] waits for the end: exit, timeout or cancel. A command ends by its exit status, never by the end of a
//!    pipe.
//! 5. [`task`] is a command that outlives its call: read, waited for, typed into.
//!
//! [`layers`] keeps what commands write over the home and over a draft, for each project.
//!
//! `server/command.rs` uses all of this; tools do not.

mod allocator;
mod async_fd;
mod browser;
pub mod caller;
pub mod command_line;
mod denials;
mod descriptor_limit;
mod environment;
mod file_size_limit;
mod guards;
mod inherited_signals;
mod input;
mod keeper_error;
mod keeper_link;
mod keeper_news;
pub mod keys;
mod layers;
mod listening_ports;
mod login;
pub mod output;
mod own_network;
mod own_program;
mod picture_process;
mod private_socket;
mod process;
mod program_pages;
mod remove_tree;
mod running;
mod server_directory;
mod session_directory;
mod settings;
pub mod shell;
mod shortage;
mod socket;
mod spawn;
mod task;
mod terminal;
mod totals;
mod tree_size;

pub use crate::keeper::protocol::{Excess, ExitStatus};
pub use allocator::give_back_large_blocks;
pub use async_fd::async_fd;
pub use browser::open as open_in_browser;
pub use caller::Caller;
pub use denials::Denials;
pub use descriptor_limit::raise_descriptor_limit;
pub use environment::{Settings as EnvironmentSettings, initial as initial_environment, make_git_safe};
pub use file_size_limit::survive_file_size_limit;
pub use guards::{all_gone as guards_gone, reap_strangers};
pub use inherited_signals::{hangup_is_ignored, has_terminal, unblock_all as unblock_all_signals};
pub use input::{Input, InputError};
pub use keeper_error::KeeperError;
pub use keeper_link::KeeperLink;
pub use layers::{LayerLease, ProjectLayer, ProjectLayers};
pub use login::{LoginShell, wanted as login_shell_wanted};
pub use output::{
    DiskFull, Loss, Page, PageError, PageRequest, Recording, View, clean, page_of_text, read_page, read_raw_lines,
};
pub use own_network::OwnNetwork;
pub use own_program::run_own_program;
pub use picture_process::{PICTURE_SUBCOMMAND, convert_picture, limit_picture_process};
pub use private_socket::{PrivateSocket, make_private};
pub use process::{Exited, Process};
pub use program_pages::{started, worked};
pub use remove_tree::remove_tree;
pub use running::{Ending, Running, Streams};
pub use server_directory::ServerDirectory;
pub use session_directory::SessionDirectory;
pub use settings::{OutputSettings, Settings, TaskSettings};
pub use shell::{Shell, ShellReport, ShellState, WaitingShell};
pub use spawn::{Place, Stdin, spawn, spawn_terminal, spawn_words};
pub use task::{Task, Typing, TypingError, Until, WaitEnd};
pub use terminal::Terminal;
pub use totals::Totals;
pub use tree_size::TreeSize;
