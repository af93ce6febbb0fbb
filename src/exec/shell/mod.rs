//! The shell that runs a command's text, and what comes back from it.
//!
//! - [`shell`] finds the machine's shell and gives it the text.
//! - [`state_channel`] carries what the shell reports about itself; [`shell_report`] and [`shell_state`] read it.
//! - [`waiting_shell`] is a shell that was started in advance and waits for its text; [`waiting_script`] is what it runs meanwhile.
//! - [`traces`] knows what a text can leave behind in its shell, so that the shell can take another one. [`shell_variables`] are
//!   those of bash itself.

mod exported;
mod numbers;
mod shell;
mod shell_report;
mod shell_state;
mod shell_variables;
mod state_channel;
mod traces;
mod waiting_script;
mod waiting_shell;

pub use exported::Exported;
pub use shell::{Beginning, Reports, STALE, Shell, memory_file};
pub use shell_report::ShellReport;
pub use shell_state::ShellState;
pub use state_channel::StateChannel;
pub use waiting_shell::{Again, BEFORE_THE_KEEPER_WATCHES, WaitingShell};
