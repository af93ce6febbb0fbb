//! What all file tools do alike: from the path as written to a permitted action, and off the async threads.

use std::path::Path;
use std::sync::Arc;

use super::ToolError;
use crate::files::{FileError, Protected, RequestedPath, SearchFiles, Target, WriteFile};
use crate::gate::Permitted;
use crate::server::{Context, Session};

/// A path as seen from the session's cwd.
pub fn asked(context: &Context, session: &Session, path: &str) -> Result<RequestedPath, ToolError> {
    let home = context.server.config().files.home.as_deref();
    Ok(RequestedPath::new(path, &session.state().cwd, home)?)
}

/// Runs file work where it may block. A panic in it is an error of that one call.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, FileError> + Send + 'static,
) -> Result<T, ToolError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => Ok(result?),
        Err(error) => Err(ToolError::new(format!("failed to finish: {error}"))),
    }
}

/// A place to write, permitted. In read-only mode there is none. `change` is what a person who is asked gets to see.
pub async fn to_write(
    context: &Context,
    session: &Arc<Session>,
    path: &str,
    change: impl FnOnce() -> String,
) -> Result<Permitted<WriteFile>, ToolError> {
    let asked = asked(context, session, path)?;
    if context.server.config().files.read_only {
        return Err(FileError::ReadOnly { path: path.to_owned() }.into());
    }
    let scope = session.scope();
    let target = blocking({
        let asked = asked.clone();
        move || Target::find(&scope, &asked)
    });
    let target = target.await?;
    let name = session.keepers().protecting(&session.workplace(), target.path());
    let protected = name.map(|name| Protected { name, change: change() });
    context.permit(WriteFile { asked, target, protected }).await
}

/// Does the writing. A protected name that was written with permission is as it should be from then on.
pub async fn write<T: Send + 'static>(
    session: &Arc<Session>,
    permitted: Permitted<WriteFile>,
    work: impl FnOnce(&Permitted<WriteFile>) -> Result<T, FileError> + Send + 'static,
) -> Result<T, ToolError> {
    let (result, permitted) = blocking(move || Ok((work(&permitted), permitted))).await?;
    if permitted.protected.is_some() && result.is_ok() {
        session.keepers().written(permitted.target.path()).await;
    }
    Ok(result?)
}

/// A place to search, permitted; without a path, the session's cwd.
pub async fn to_search(
    context: &Context,
    session: &Arc<Session>,
    path: Option<&str>,
) -> Result<Permitted<SearchFiles>, ToolError> {
    let asked = asked(context, session, path.filter(|path| !path.is_empty()).unwrap_or("."))?;
    let scope = session.scope();
    let searching = blocking(move || Ok(SearchFiles { entry: scope.find(&asked)?, asked })).await?;
    context.permit(searching).await
}

/// A path as short as it can be said in this session.
pub fn shortened(path: &Path, cwd: &Path) -> String {
    let below = path.strip_prefix(cwd).ok().filter(|below| !below.as_os_str().is_empty());
    below.unwrap_or(path).display().to_string()
}

/// Remarks after a reply, each on a line of its own.
pub fn remarks(notes: &[String]) -> String {
    notes.iter().flat_map(|note| ["\n[", note, "]\n"]).collect()
}
