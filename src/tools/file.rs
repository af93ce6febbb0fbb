//! What all file tools share: the way from a path argument to a permitted action, and running file work on a thread that may
//! block.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::{Stop, ToolError};
use crate::base::worker_threads;
use crate::files::{self, FileError, Protected, RequestedPath, SearchFiles, Target, WriteFile};
use crate::gate::Permitted;
use crate::server::{Context, Session, answers};

/// A path argument. A relative one starts at the session's cwd. A path on a file system that hangs is refused:
/// opening it would take for ever.
pub async fn requested(session: &Session, path: &str) -> Result<RequestedPath, ToolError> {
    let home = session.basis().config.files.home.as_deref();
    let requested = RequestedPath::new(path, &session.state().cwd, home)?;
    if answers(&requested.without_dots()).await {
        return Ok(requested);
    }
    Err(ToolError::new(format!("{path}: the file system does not answer"))
        .hint("It is a network or FUSE mount that hangs. Use other paths, or ask the user to mount it again."))
}

/// The size of a file counts from the call after a change of the configuration, what is out of bounds from a session's
/// beginning.
pub fn settings(context: &Context, session: &Session) -> files::Settings {
    let max_file_size = context.server.config().files.max_file_size;
    files::Settings { max_file_size, ..session.basis().config.files.clone() }
}

/// Lines for directories that were left out of a search.
pub fn unanswered(directories: &[PathBuf], cwd: &Path) -> impl Iterator<Item = String> {
    let line = |path: &PathBuf| format!("Not searched: {}, which does not answer", shortened(path, cwd));
    directories.iter().map(line)
}

/// File work that has not ended after this long waits for a file system that does not answer.
const LONGEST_WORK: Duration = Duration::from_secs(50);

/// Runs file work on a thread that may block. A panic in it fails this call only.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, FileError> + Send + 'static,
) -> Result<T, ToolError> {
    let Ok(ended) = tokio::time::timeout(LONGEST_WORK, worker_threads::run(work)).await else {
        return Err(ToolError::new(format!("the file system has not answered for {} s", LONGEST_WORK.as_secs()))
            .hint("It may still carry out the call. Look at the file before you try again."));
    };
    match ended {
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
    let requested = requested(session, path).await?;
    if session.basis().config.files.read_only {
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
    // The handle is the last of the old file, and closing it frees the file's blocks. Nobody needs to wait for that.
    tokio::spawn(worker_threads::run(move || drop(permitted)));
    Ok(result?)
}

/// Asks permission to search a path; without a path, the session's cwd.
pub async fn to_search(
    context: &Context,
    session: &Arc<Session>,
    path: Option<&str>,
) -> Result<Permitted<SearchFiles>, Stop> {
    let requested = requested(session, path.filter(|path| !path.is_empty()).unwrap_or(".")).await?;
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
