//! Why a command gave no result, and what the agent reads about it.

use super::ToolError;
use super::tasks::LimitReached;
use crate::exec::KeeperError;

/// Why a command gave no result.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    #[error(transparent)]
    Start(#[from] KeeperError),
    #[error("cancelled by the client; the command and its children were ended")]
    Cancelled,
    #[error("{full}")]
    Full { full: LimitReached, tasks: Vec<String> },
}

impl From<CommandError> for ToolError {
    fn from(error: CommandError) -> Self {
        let text = Self::new(error.to_string());
        match error {
            CommandError::Cancelled => text,
            CommandError::Full { tasks, .. } => text.hint(format!(
                "Nothing was run. Tasks: {}. Read finished ones with task_output, end others with task_stop.",
                tasks.join(", ")
            )),
            CommandError::Start(error) => {
                error.advice().into_iter().fold(text.hint(what_was_run(&error)), ToolError::hint)
            }
        }
    }
}

fn what_was_run(error: &KeeperError) -> &'static str {
    match error {
        KeeperError::Dead => {
            "The command may not have run. Everything the session had started has ended; the next command gets a new \
             keeper, with cwd and variables as before."
        }
        KeeperError::Execute { .. } | KeeperError::Prepare(_) | KeeperError::WorkingDirectory { .. } => {
            "Nothing was run."
        }
        KeeperError::TooSlow(_)
        | KeeperError::Launch(_)
        | KeeperError::NoProc
        | KeeperError::NotReady
        | KeeperError::Restrict(_)
        | KeeperError::Refused(_) => "Nothing was run. `testudo doctor` shows what this machine lacks and the fix.",
    }
}
