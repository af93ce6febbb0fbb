use schemars::JsonSchema;
use serde::Deserialize;

use super::{Hints, Stop, Tool, ToolOutput, file};
use crate::files;
use crate::server::Context;

/// Writes a whole file.
pub struct CreateFile;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Absolute, or relative to the session's cwd. The project and /tmp are in scope.
    path: String,
    /// The whole content of the file.
    content: String,
}

impl Tool for CreateFile {
    const NAME: &'static str = "create_file";
    const TITLE: &'static str = "Create a file";
    const DESCRIPTION: &'static str =
        "Write a whole file. Missing parent directories are made, and an existing file is overwritten.";
    const HINTS: Hints = Hints { read_only: false, destructive: true, idempotent: true, open_world: false };
    type Arguments = Arguments;

    async fn run(arguments: Arguments, context: &Context) -> Result<ToolOutput, Stop> {
        create(context, &arguments.path, arguments.content).await
    }
}

/// Shared with `str_replace_editor`.
pub async fn create(context: &Context, path: &str, content: String) -> Result<ToolOutput, Stop> {
    let session = context.session(None)?;
    let permitted = file::to_write(context, &session, path, || content.clone()).await?;
    let (scope, settings, seen) = (session.scope(), file::settings(context, &session), session.clone());
    let text = file::write(&session, permitted, move |permitted| {
        let notes = files::create(permitted, &content, &scope, &settings, seen.seen_files())?;
        let path = permitted.requested.without_dots();
        let reply = format!("Created {} ({} bytes)", path.display(), content.len());
        Ok(reply + &file::remarks(&notes))
    });
    Ok(text.await?.into())
}
