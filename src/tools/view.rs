use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Hints, Stop, Tool, ToolOutput, file};
use crate::exec;
use crate::files::{self, Converted, FileError, Interrupt, LineRange, Looking, ReadFile, Rendered};
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
    const RESULT_MAY_BE_LONG: bool = true;
    type Arguments = Arguments;

    async fn run(arguments: Arguments, context: &Context) -> Result<ToolOutput, Stop> {
        view(context, &arguments.path, arguments.view_range.as_deref()).await
    }
}

/// Shared with `str_replace_editor`.
pub async fn view(context: &Context, path: &str, range: Option<&[i64]>) -> Result<ToolOutput, Stop> {
    let looking = range.map(LineRange::parse).transpose()?.map_or(Looking::AtIt, Looking::AtLines);
    let session = context.session(None)?;
    let requested = file::requested(&session, path).await?;
    let scope = session.scope();
    let reading = file::blocking(move || Ok(ReadFile { handle: scope.find(&requested)?, requested })).await?;
    let permitted = Arc::new(context.permit(&session, reading).await?);
    let look = |looking| {
        let (scope, settings) = (session.scope(), file::settings(context, &session));
        let interrupt = Interrupt::never().or_cancelled(context.cancel.clone());
        let (permitted, seen) = (permitted.clone(), session.clone());
        file::blocking(move || files::view(&permitted, looking, &scope, &settings, seen.seen_files(), &interrupt))
    };
    let picture = match look(looking).await? {
        Rendered::Text(text) => return Ok(text.into()),
        Rendered::Image(image) => return Ok(ToolOutput::image(image)),
        Rendered::Picture(picture) => picture,
    };
    let converting = exec::convert_picture(picture.mime, &picture.data, picture.memory);
    let converted = tokio::select! {
        converted = converting => converted,
        () = context.cancel.cancelled() => return Err(FileError::Cancelled.into()),
    };
    match converted.and_then(|bytes| Converted::decode(&bytes).ok_or_else(|| "its process failed".to_owned())) {
        Ok(converted) => Ok(ToolOutput::image(converted.into_image(picture.mime))),
        // What is not a picture after all may still be text.
        Err(reason) => match look(Looking::AtItsSource).await? {
            Rendered::Text(text) => Ok(text.into()),
            _ => Ok(format!("An image ({}) that cannot be shown: {reason}.", picture.mime).into()),
        },
    }
}
