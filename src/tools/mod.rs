//! What agents can ask for. `tools!` is the table of contents: one line a tool, with the toolsets it belongs to; its file
//! has the same name.

mod arguments;
mod bash;
mod blocks;
mod create_file;
mod error;
mod file;
mod find;
mod grep;
mod output;
mod settings;
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

pub use error::ToolError;
pub use output::{Image, ToolOutput};
pub use settings::Settings;
pub use tool::{Entry, Hints, Tool};

macro_rules! tools {
    ($($tool:path: $($toolset:ident)+;)+) => {
        /// Every tool there is, in the order clients see.
        pub static TOOLS: &[Entry] = &[$(Entry::of::<$tool>(&[$(stringify!($toolset)),+])),+];
    };
}

tools! {
    bash::Bash: standard anthropic;
    task_output::TaskOutput: standard anthropic;
    task_input::TaskInput: standard anthropic;
    task_stop::TaskStop: standard anthropic;
    view::View: standard;
    str_replace::StrReplace: standard;
    create_file::CreateFile: standard;
    str_replace_editor::StrReplaceEditor: anthropic;
    grep::Grep: standard anthropic;
    find::Find: standard anthropic;
}

/// For an id that names nothing here, with the ids that do.
fn unknown_task(session: &crate::server::Session, id: &str) -> ToolError {
    let known: Vec<String> = session.tasks().ids().into_iter().chain(session.output_ids()).collect();
    let hint = if known.is_empty() { "There are none.".to_owned() } else { format!("Known: {}.", known.join(", ")) };
    ToolError::new(format!("task not found: {id}")).hint(hint)
}

/// The tools that the settings choose.
pub fn offered(settings: &Settings) -> Vec<&'static Entry> {
    TOOLS.iter().filter(|entry| settings.offers(entry)).collect()
}

/// The input schema of a tool, made once.
pub fn schema(name: &str) -> &'static Map<String, Value> {
    static SCHEMAS: LazyLock<HashMap<&str, Map<String, Value>>> =
        LazyLock::new(|| TOOLS.iter().map(|entry| (entry.name, (entry.schema)())).collect());
    &SCHEMAS[name]
}
