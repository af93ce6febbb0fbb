use schemars::JsonSchema;
use serde::Deserialize;

use super::{Hints, Tool, ToolError, ToolOutput, file};
use crate::files::{self, Interrupt, LineRange, ReadFile};
use crate::server::Context;

/// Shows a file, a picture or a directory.
pub struct View;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    path: String,
    /// [start, end] from 1; end -1 is the last line.
    view_range: Option<Vec<i64>>,
}

impl Tool for View {
    const NAME: &'static str = "view";
    const TITLE: &'static str = "View a file or directory";
    const DESCRIPTION: &'static str = "Show a text file with line numbers (the first 2000 lines, or view_range, in a file of \
        any size), an image, or a directory as a tree of two levels.";
    const HINTS: Hints = Hints { read_only: true, destructive: false, idempotent: true, open_world: false };
    type Arguments = Arguments;

    async fn run(arguments: Arguments, context: &Context) -> Result<ToolOutput, ToolError> {
        view(context, &arguments.path, arguments.view_range.as_deref()).await
    }
}

/// Shared with `str_replace_editor`.
pub async fn view(context: &Context, path: &str, range: Option<&[i64]>) -> Result<ToolOutput, ToolError> {
    let range = range.map(LineRange::parse).transpose()?;
    let session = context.session(None)?;
    let asked = file::asked(context, &session, path)?;
    let scope = session.scope();
    let reading = file::blocking(move || Ok(ReadFile { entry: scope.find(&asked)?, asked })).await?;
    let permitted = context.permit(reading).await?;
    let scope = session.scope();
    let settings = context.server.config().files.clone();
    let stop = Interrupt::never().or_cancelled(context.cancel.clone());
    let seen = session.clone();
    file::blocking(move || files::view(&permitted, range, &scope, &settings, seen.seen_files(), &stop)).await.map(
        |view| match view {
            files::Rendered::Text(text) => ToolOutput::Text(text),
            files::Rendered::Image(image) => ToolOutput::Image(image),
        },
    )
}
