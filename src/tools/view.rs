use schemars::JsonSchema;
use serde::Deserialize;

use super::{Hints, Stop, Tool, ToolOutput, file};
use crate::files::{self, Interrupt, LineRange, ReadFile};
use crate::server::Context;

/// Shows a file, an image or a directory.
pub struct View;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Absolute, or relative to the session's cwd. The project and /tmp are in scope.
    path: String,
    /// [start, end], counted from 1; an end of -1 is the last line.
    view_range: Option<Vec<i64>>,
}

impl Tool for View {
    const NAME: &'static str = "view";
    const TITLE: &'static str = "View a file or directory";
    const DESCRIPTION: &'static str = "Show a text file with line numbers, an image, or a directory as a tree of two levels. \
        Without view_range, the first 2000 lines are shown; view_range works in a file of any size.";
    const HINTS: Hints = Hints { read_only: true, destructive: false, idempotent: true, open_world: false };
    type Arguments = Arguments;

    async fn run(arguments: Arguments, context: &Context) -> Result<ToolOutput, Stop> {
        view(context, &arguments.path, arguments.view_range.as_deref()).await
    }
}

/// Shared with `str_replace_editor`.
pub async fn view(context: &Context, path: &str, range: Option<&[i64]>) -> Result<ToolOutput, Stop> {
    let range = range.map(LineRange::parse).transpose()?;
    let session = context.session(None)?;
    let requested = file::requested(context, &session, path).await?;
    let scope = session.scope();
    let reading = file::blocking(move || Ok(ReadFile { handle: scope.find(&requested)?, requested })).await?;
    let permitted = context.permit(&session, reading).await?;
    let scope = session.scope();
    let settings = context.server.config().files.clone();
    let interrupt = Interrupt::never().or_cancelled(context.cancel.clone());
    let seen = session.clone();
    let work = move || files::view(&permitted, range, &scope, &settings, seen.seen_files(), &interrupt);
    Ok(match file::blocking(work).await? {
        files::Rendered::Text(text) => text.into(),
        files::Rendered::Image(image) => ToolOutput::image(image),
    })
}
