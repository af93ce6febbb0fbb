use schemars::JsonSchema;
use serde::Deserialize;

use super::{Hints, Stop, Tool, ToolError, ToolOutput, create_file, file, str_replace, view};
use crate::files::{Editor, Interrupt};
use crate::server::Context;

/// The file tools in one, as Anthropic's models were trained on it.
pub struct StrReplaceEditor;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    // A string and not an enum, so that an unknown command gets the error text below and not the parser's.
    #[schemars(extend("enum" = ["view", "str_replace", "create", "insert"]))]
    command: String,
    /// Absolute, or relative to the session's cwd. The project and /tmp are in scope.
    path: String,
    /// For view: [start, end], counted from 1; an end of -1 is the last line.
    view_range: Option<Vec<i64>>,
    /// For str_replace: the text to replace. It must occur exactly once, unless replace_all is true.
    old_str: Option<String>,
    /// For str_replace and insert: the new text.
    new_str: Option<String>,
    /// For str_replace: replace every occurrence.
    #[serde(default)]
    replace_all: bool,
    /// For create: the whole content.
    file_text: Option<String>,
    /// For insert: the line after which new_str goes; 0 is the top.
    insert_line: Option<i64>,
}

impl Tool for StrReplaceEditor {
    const NAME: &'static str = "str_replace_editor";
    const TITLE: &'static str = "View and edit files";
    const DESCRIPTION: &'static str = "View, create and edit files. `view` shows a file with line numbers, an image or a \
        directory. `str_replace` replaces old_str, copied exactly from the file, by new_str. `create` writes a whole file. \
        `insert` puts new_str after the line insert_line.";
    const HINTS: Hints = Hints { read_only: false, destructive: true, idempotent: false, open_world: false };
    const RESULT_MAY_BE_LONG: bool = true;
    type Arguments = Arguments;

    async fn run(arguments: Arguments, context: &Context) -> Result<ToolOutput, Stop> {
        let path = &arguments.path;
        match arguments.command.as_str() {
            "view" => view::view(context, path, arguments.view_range.as_deref()).await,
            "str_replace" => {
                let old = needed("old_str", "str_replace", arguments.old_str)?;
                str_replace::replace(context, path, old, arguments.new_str.unwrap_or_default(), arguments.replace_all)
                    .await
            }
            "create" => {
                let text = needed("file_text", "create", arguments.file_text)?;
                create_file::create(context, path, text).await
            }
            "insert" => {
                let line = needed("insert_line", "insert", arguments.insert_line)?;
                let text = needed("new_str", "insert", arguments.new_str)?;
                insert(context, path, line, text).await
            }
            other => Err(ToolError::new(format!(
                "unknown command: {other} (valid commands: view, str_replace, create, insert)"
            ))
            .into()),
        }
    }
}

fn needed<T>(name: &str, command: &str, value: Option<T>) -> Result<T, ToolError> {
    value.ok_or_else(|| ToolError::new(format!("{name} is required for {command}")).hint("Nothing was changed."))
}

async fn insert(context: &Context, path: &str, line: i64, text: String) -> Result<ToolOutput, Stop> {
    let session = context.session(None)?;
    let permitted = file::to_write(context, &session, path, || format!("insert after line {line}:\n{text}")).await?;
    let (scope, settings, seen) = (session.scope(), file::settings(context, &session), session.clone());
    let interrupt = Interrupt::never().or_cancelled(context.cancel.clone());
    let reply = file::write(&session, permitted, move |permitted| {
        let editor = Editor { scope: &scope, settings: &settings, seen: seen.seen_files(), interrupt: &interrupt };
        let edited = editor.insert(permitted, line, &text)?;
        let path = permitted.requested.without_dots();
        Ok(format!("Inserted in {}\n\n{}{}", path.display(), edited.snippet, file::remarks(&edited.notes)))
    });
    Ok(reply.await?.into())
}
