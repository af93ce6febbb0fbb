//! What all file tools share: the way from a path argument to a permitted action, and running file work on a thread that may
//! block.

use std::path::Path;
use std::sync::Arc;

use super::{Stop, ToolError};
use crate::base::worker_threads;
use crate::files::{FileError, Protected, RequestedPath, SearchFiles, Target, WriteFile};
use crate::gate::Permitted;
use crate::server::{Context, Session};

/// A path argument. A relative one starts at the session's cwd.
pub fn requested(context: &Context, session: &Session, path: &str) -> Result<RequestedPath, ToolError> {
    let home = context.server.config().files.home.as_deref();
    Ok(RequestedPath::new(path, &session.state().cwd, home)?)
}

/// Runs file work on a thread that may block. A panic in it fails this call only.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, FileError> + Send + 'static,
) -> Result<T, ToolError> {
    match worker_threads::run(work).await {
        Ok(result) => Ok(result?),
        Err(error) => Err(ToolError::new(format!("failed to finish: {error}"))),
    }
}

/// Asks permission to write to a path. In read-only mode every write is refused. `change` describes the write to a person
/// who is asked about it.
pub async fn to_write(
    context: &Context,
    session: &Arc<Session>,
    path: &str,
    change: impl FnOnce() -> String,
) -> Result<Permitted<WriteFile>, Stop> {
    let requested = requested(context, session, path)?;
    if context.server.config().files.read_only {
        return Err(FileError::ReadOnly { path: path.to_owned() }.into());
    }
    let scope = session.scope();
    let target = blocking({
        let requested = requested.clone();
        move || Target::find(&scope, &requested)
    });
    let target = target.await?;
    let name = session.names().protecting(&session.workplace(), target.path());
    let protected = name.map(|name| Protected { name, change: change() });
    context.permit(session, WriteFile { requested, target, protected }).await
}

/// Does the writing. The new content of a protected name is the trusted version from then on, because a person permitted it.
pub async fn write<T: Send + 'static>(
    session: &Arc<Session>,
    permitted: Permitted<WriteFile>,
    work: impl FnOnce(&Permitted<WriteFile>) -> Result<T, FileError> + Send + 'static,
) -> Result<T, ToolError> {
    let (result, permitted) = blocking(move || Ok((work(&permitted), permitted))).await?;
    if permitted.protected.is_some() && result.is_ok() {
        session.names().written(permitted.target.path()).await;
    }
    Ok(result?)
}

/// Asks permission to search a path; without a path, the session's cwd.
pub async fn to_search(
    context: &Context,
    session: &Arc<Session>,
    path: Option<&str>,
) -> Result<Permitted<SearchFiles>, Stop> {
    let requested = requested(context, session, path.filter(|path| !path.is_empty()).unwrap_or("."))?;
    let scope = session.scope();
    let searching = blocking(move || Ok(SearchFiles { handle: scope.find(&requested)?, requested })).await?;
    context.permit(session, searching).await
}

/// A path relative to the cwd where it lies below it.
pub fn shortened(path: &Path, cwd: &Path) -> String {
    let below = path.strip_prefix(cwd).ok().filter(|below| !below.as_os_str().is_empty());
    below.unwrap_or(path).display().to_string()
}

/// Notes for the end of a reply, each on a line of its own.
pub fn remarks(notes: &[String]) -> String {
    notes.iter().flat_map(|note| ["\n[", note, "]\n"]).collect()
}
