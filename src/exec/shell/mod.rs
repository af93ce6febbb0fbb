//! The shell that runs a command's text, and what comes back from it.
//!
//! - [`shell`] finds the machine's shell and gives it the text.
//! - [`state_channel`] carries what the shell reports about itself at its end; [`shell_state`] reads it.
//! - [`plain_text`] knows the texts that need no report.
//! - [`waiting_shell`] is a shell that was started in advance and waits for its text.

mod numbers;
mod plain_text;
mod shell;
mod shell_state;
mod state_channel;
mod waiting_shell;

pub use shell::{Beginning, GONE, Reports, STALE, Shell, memory_file};
pub use shell_state::{ShellReport, ShellState};
pub use state_channel::StateChannel;
pub use waiting_shell::WaitingShell;
