use schemars::JsonSchema;
use serde::Deserialize;

use super::{Hints, Stop, Tool, ToolOutput, file};
use crate::files::{Editor, ReplaceRequest};
use crate::server::Context;

/// Replaces a text in a file.
pub struct StrReplace;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    path: String,
    /// The text to replace, unique in the file.
    old_str: String,
    /// What takes its place; nothing deletes it.
    #[serde(default)]
    new_str: String,
    /// Replace every occurrence.
    #[serde(default)]
    replace_all: bool,
}

impl Tool for StrReplace {
    const NAME: &'static str = "str_replace";
    const TITLE: &'static str = "Replace text in a file";
    const DESCRIPTION: &'static str = "Replace old_str, copied exactly from the file without line numbers, by new_str. Only \
        the matched bytes change. Differences in line endings, trailing blanks, indentation style or typographic \
        punctuation are bridged if one place matches; the reply says so.";
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
    let (scope, settings, seen) = (session.scope(), context.server.config().files.clone(), session.clone());
    let text = file::write(&session, permitted, move |permitted| {
        let editor = Editor { scope: &scope, settings: &settings, seen: seen.seen_files() };
        let edited = editor.replace(permitted, &ReplaceRequest { old: &old, new: &new, all })?;
        let path = permitted.asked.shown();
        let told = if all {
            format!("Replaced {} occurrences in {}", edited.count, path.display())
        } else {
            format!("Replaced in {}\n\n{}", path.display(), edited.snippet)
        };
        Ok(told + &file::remarks(&edited.notes))
    });
    Ok(text.await?.into())
}
