use schemars::JsonSchema;
use serde::Deserialize;

use super::{Hints, Stop, Tool, ToolOutput, file};
use crate::files::{Editor, Interrupt, ReplaceRequest};
use crate::server::Context;

/// Replaces text in a file.
pub struct StrReplace;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Absolute, or relative to the session's cwd. The project and /tmp are in scope.
    path: String,
    /// The text to replace. It must occur exactly once, unless replace_all is true.
    old_str: String,
    /// The text to put in its place. Without it, old_str is deleted.
    #[serde(default)]
    new_str: String,
    /// Replace every occurrence.
    #[serde(default)]
    replace_all: bool,
}

impl Tool for StrReplace {
    const NAME: &'static str = "str_replace";
    const TITLE: &'static str = "Replace text in a file";
    const DESCRIPTION: &'static str = "Replace old_str in a file by new_str. Copy old_str exactly from the file, without \
        line numbers. Only the matched bytes change. If nothing matches exactly, differences in line endings, trailing \
        blanks, indentation style or typographic punctuation are ignored, as long as only one place matches; the reply \
        then says so.";
    const HINTS: Hints = Hints { read_only: false, destructive: true, idempotent: false, open_world: false };
    type Arguments = Arguments;

    async fn run(arguments: Arguments, context: &Context) -> Result<ToolOutput, Stop> {
        replace(context, &arguments.path, arguments.old_str, arguments.new_str, arguments.replace_all).await
    }
}

/// Shared with `str_replace_editor`.
pub async fn replace(context: &Context, path: &str, old: String, new: String, all: bool) -> Result<ToolOutput, Stop> {
    let session = context.session(None)?;
    let change = || format!("replace:\n{old}\nwith:\n{new}");
    let permitted = file::to_write(context, &session, path, change).await?;
    let (scope, settings, seen) = (session.scope(), file::settings(context, &session), session.clone());
    let interrupt = Interrupt::never().or_cancelled(context.cancel.clone());
    let text = file::write(&session, permitted, move |permitted| {
        let editor = Editor { scope: &scope, settings: &settings, seen: seen.seen_files(), interrupt: &interrupt };
        let edited = editor.replace(permitted, &ReplaceRequest { old: &old, new: &new, all })?;
        let path = permitted.requested.without_dots();
        let reply = if all {
            format!("Replaced {} occurrences in {}", edited.count, path.display())
        } else {
            format!("Replaced in {}\n\n{}", path.display(), edited.snippet)
        };
        Ok(reply + &file::remarks(&edited.notes))
    });
    Ok(text.await?.into())
}
