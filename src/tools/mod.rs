//! What agents can ask for. `tools!` is the table of contents: one line a tool, with the toolsets it belongs to; its file
//! has the same name.

mod arguments;
mod bash;
mod blocks;
mod create_file;
mod error;
mod execute_command;
mod file;
mod find;
mod grep;
mod output;
mod run_shell_command;
mod str_replace;
mod str_replace_editor;
mod task_input;
mod task_output;
mod task_pages;
mod task_stop;
mod task_text;
mod tool;
mod view;

use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::base::spelling;
use crate::config::{ToolSettings, Toolset};

pub use error::ToolError;
pub use output::{Image, ToolOutput};
pub use tool::{Entry, Hints, Tool};

macro_rules! tools {
    ($($tool:path: $($toolset:ident)+;)+) => {
        /// Every tool there is, in the order clients see.
        pub static TOOLS: &[Entry] = &[$(Entry::of::<$tool>(&[$(Toolset::$toolset),+])),+];
    };
}

tools! {
    bash::Bash: Standard Anthropic;
    task_output::TaskOutput: Standard Anthropic;
    task_input::TaskInput: Standard Anthropic;
    task_stop::TaskStop: Standard Anthropic;
    view::View: Standard;
    str_replace::StrReplace: Standard;
    create_file::CreateFile: Standard;
    str_replace_editor::StrReplaceEditor: Anthropic;
    grep::Grep: Standard Anthropic;
    find::Find: Standard Anthropic;
    execute_command::ExecuteCommand: Terminal;
    run_shell_command::RunShellCommand: Gemini;
}

/// For an id that names nothing here, with the ids that do.
fn unknown_task(session: &crate::server::Session, id: &str) -> ToolError {
    let known: Vec<String> = session.tasks().ids().into_iter().chain(session.output_ids()).collect();
    let hint = if known.is_empty() { "There are none.".to_owned() } else { format!("Known: {}.", known.join(", ")) };
    ToolError::new(format!("task not found: {id}")).hint(hint)
}

/// A stream in full, up to a stated cap, for the tools whose users expect the whole of it.
fn complete_text(recording: &crate::exec::Recording) -> String {
    const CAP: usize = 10 << 20;
    let mut bytes = Vec::new();
    recording.each_piece(0, |piece| {
        let room = CAP - bytes.len();
        bytes.extend_from_slice(&piece[..piece.len().min(room)]);
    });
    let seen = recording.get().spill.seen();
    let mut text = crate::exec::clean(&bytes);
    if seen > bytes.len() as u64 {
        text.push_str(&format!("\n\n[Truncated: output was {seen} bytes, showing first {}]", bytes.len()));
    }
    text
}

/// The tools that the settings choose.
pub fn offered(settings: &ToolSettings) -> Vec<&'static Entry> {
    TOOLS.iter().filter(|entry| settings.offers(entry.name, entry.toolsets)).collect()
}

/// Refuses `--disable-tools` with a name that no tool has.
pub fn check_names(settings: &ToolSettings) -> Result<(), String> {
    let valid: Vec<&str> = TOOLS.iter().map(|entry| entry.name).collect();
    let Some(unknown) = settings.disable_tools.iter().find(|name| !valid.contains(&name.as_str())) else {
        return Ok(());
    };
    let near = spelling::nearest(unknown, valid.iter().copied());
    let suggestion = near.map(|name| format!("; did you mean {name}?")).unwrap_or_default();
    Err(format!("unknown tool {unknown:?}{suggestion} (valid: {})", valid.join(", ")))
}

/// The input schema of a tool, made once.
pub fn schema(name: &str) -> &'static Map<String, Value> {
    static SCHEMAS: LazyLock<HashMap<&str, Map<String, Value>>> =
        LazyLock::new(|| TOOLS.iter().map(|entry| (entry.name, (entry.schema)())).collect());
    &SCHEMAS[name]
}
