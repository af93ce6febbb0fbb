//! What agents can ask for. [`TOOLS`] is the table of contents: one line per tool, with the toolsets it belongs to. Each
//! tool has a file of the same name: its description, its arguments, what it does.

mod arguments;
mod bash;
mod create_file;
mod execute_command;
mod file;
mod find;
mod grep;
mod guide;
mod run_shell_command;
mod str_replace;
mod str_replace_editor;
mod stream_text;
mod task_input;
mod task_output;
mod task_pages;
mod task_stop;
mod task_text;
mod time_limit;
mod tool;
mod view;

use crate::config::Toolset::{Anthropic, Gemini, Standard, Terminal};
use crate::server::{Context, Hints, Stop, ToolEntry, ToolError, ToolOutput};

pub use guide::guide;
pub use tool::Tool;
use tool::entry;

/// Every tool there is, in the order clients see.
pub static TOOLS: &[ToolEntry] = &[
    entry::<bash::Bash>(&[Standard, Anthropic]),
    entry::<task_output::TaskOutput>(&[Standard, Anthropic]),
    entry::<task_input::TaskInput>(&[Standard, Anthropic]),
    entry::<task_stop::TaskStop>(&[Standard, Anthropic]),
    entry::<view::View>(&[Standard]),
    entry::<str_replace::StrReplace>(&[Standard]),
    entry::<create_file::CreateFile>(&[Standard]),
    entry::<str_replace_editor::StrReplaceEditor>(&[Anthropic]),
    entry::<grep::Grep>(&[Standard, Anthropic]),
    entry::<find::Find>(&[Standard, Anthropic]),
    entry::<execute_command::ExecuteCommand>(&[Terminal]),
    entry::<run_shell_command::RunShellCommand>(&[Gemini]),
];

pub fn names() -> Vec<&'static str> {
    TOOLS.iter().map(|entry| entry.name).collect()
}

const LONGEST_COMMAND: usize = 1 << 20;

/// What every tool that runs shell text refuses.
fn check_command(command: &str) -> Result<(), ToolError> {
    if command.trim().is_empty() {
        return Err(ToolError::new("command must not be empty"));
    }
    if command.contains('\0') {
        return Err(ToolError::new("command must not contain a NUL character")
            .hint("No program can be given one. To write a NUL byte, use printf '\\0'."));
    }
    if command.len() > LONGEST_COMMAND {
        let message = format!("command is {} bytes long, the limit is {LONGEST_COMMAND} bytes", command.len());
        return Err(ToolError::new(message).hint("Nothing was run. Write the text to a file, or pass data as stdin."));
    }
    Ok(())
}

/// The error for an id that names no task and no stored output.
fn unknown_task(context: &Context, id: &str) -> ToolError {
    const MOST_SHOWN: usize = 20;
    let sessions = context.client.sessions();
    let mut known: Vec<String> = sessions.iter().flat_map(|session| session.output_ids()).collect();
    known.extend(sessions.iter().flat_map(|session| session.tasks().ids()));
    let newest = &known[known.len().saturating_sub(MOST_SHOWN)..];
    let hint = if known.is_empty() && !context.client.was_given_ids() {
        "This server has just started, or the connection is new: it has given out no id yet. Some clients start a new server \
         for every call, and ids do not outlive their server."
            .to_owned()
    } else if known.is_empty() {
        "There are none now: a completed task is forgotten once it is read.".to_owned()
    } else {
        format!("Known: {}.", newest.join(", "))
    };
    ToolError::new(format!("task not found: {id}")).hint(hint)
}
