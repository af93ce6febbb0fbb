//! Drafts: what is in them, and what a person decides about it. A server answers for the drafts that it works on. For the
//! others, the console of the user does. Everybody who may use the console of a server sees its drafts: all of its clients
//! work on the same ones.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State as Shared};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Extension, Router};

use super::Viewer;
use super::api::{json, problem};
use super::types::{ChangeState, Decided, DecisionRequest, DiffText, DraftState, NotDecided, SumState};
use crate::audit::Event;
use crate::base::protected_names::Names;
use crate::base::worker_threads;
use crate::drafts::{self, Change, Draft, Drafts, Grouping, Selection, Sides, Sum};
use crate::exec::run_own_program;
use crate::server::Server;

/// The drafts that somebody answers for.
#[derive(Clone)]
pub enum Desk {
    /// Those that a server works on. In its process, their paths lead to the drafts.
    Server(Arc<Server>),
    /// Those of the user that no server works on.
    Idle { state_dir: PathBuf, protect: Vec<String> },
}

type TheDesk = Shared<Desk>;

/// Every request must carry a [`Viewer`].
pub fn router<S: Clone + Send + Sync + 'static>(desk: Desk) -> Router<S> {
    Router::new()
        .route("/", get(list))
        .route("/{draft}/diff/{path}", get(diff))
        .route("/{draft}/apply", post(apply))
        .route("/{draft}/discard", post(discard))
        .with_state(desk)
}

/// So many changes of a draft are sent. More than that nobody reads; `testudo changes` lists them all.
const MOST_CHANGES: usize = 2000;
const NO_PATH: &str = "a path must be the key of a change: a dot, and its bytes in hexadecimal";

async fn list(Shared(desk): TheDesk) -> Response {
    found_or_unknown(move || {
        let (names, open) = (desk.names(), desk.drafts()?);
        open.iter().map(|(draft, sides)| state(draft, sides, &names)).collect::<io::Result<Vec<_>>>().map(Some)
    })
    .await
}

/// The path is in hexadecimal: not every name is text.
async fn diff(Shared(desk): TheDesk, Path((key, path)): Path<(String, String)>) -> Response {
    let Some(path) = path_of(&path) else { return problem(StatusCode::BAD_REQUEST, NO_PATH.to_owned()) };
    let found = move || {
        let Some((draft, sides)) = desk.find(&key)? else { return Ok(None) };
        let changes = drafts::changes(&draft, &sides)?;
        let change = changes.iter().find(|change| change.path == path);
        let text = change.map(|change| drafts::diff(change, &sides)).transpose()?;
        Ok(Some(DiffText { text: text.unwrap_or_else(|| "there is no such change any more\n".to_owned()) }))
    };
    found_or_unknown(found).await
}

async fn apply(
    Shared(desk): TheDesk,
    Extension(viewer): Extension<Viewer>,
    Path(key): Path<String>,
    body: Bytes,
) -> Response {
    let (request, selection) = match read(&body) {
        Ok(read) => read,
        Err(error) => return problem(StatusCode::BAD_REQUEST, error),
    };
    let found = move || {
        let Some((draft, sides)) = desk.find(&key)? else { return Ok(None) };
        let applied = drafts::apply(&draft, &sides, &selection, request.force)?;
        if let Desk::Idle { .. } = &desk {
            drafts::settle_if_free(&draft, &sides)?;
        }
        let not_done = applied.refused.iter();
        let refused = not_done.map(|refused| not_decided(&refused.change, &refused.reason, refused.conflict)).collect();
        let decided = Decided { done: applied.done.len(), refused };
        desk.record(&draft, "applied", &decided, &viewer);
        Ok(Some(decided))
    };
    found_or_unknown(found).await
}

async fn discard(
    Shared(desk): TheDesk,
    Extension(viewer): Extension<Viewer>,
    Path(key): Path<String>,
    body: Bytes,
) -> Response {
    let (request, selection) = match read(&body) {
        Ok(read) => read,
        Err(error) => return problem(StatusCode::BAD_REQUEST, error),
    };
    let found = move || {
        let Some((draft, sides)) = desk.find(&key)? else { return Ok(None) };
        let decided = match &desk {
            Desk::Server(_) => {
                let discarded = drafts::discard_mounted(&draft, &sides, &selection)?;
                let not_done = discarded.refused.iter();
                let refused = not_done.map(|(change, reason)| not_decided(change, reason, false)).collect();
                Decided { done: discarded.done.len(), refused }
            }
            Desk::Idle { .. } => discard_outside(&draft, &sides, &request)?,
        };
        desk.record(&draft, "discarded", &decided, &viewer);
        Ok(Some(decided))
    };
    found_or_unknown(found).await
}

impl Desk {
    fn drafts(&self) -> io::Result<Vec<(Draft, Sides)>> {
        let Self::Idle { state_dir, .. } = self else { return self.server().map_or(Ok(Vec::new()), Server::drafts) };
        let idle = |draft: &Draft| draft.project().is_dir() && !draft.is_in_use() && !draft.is_empty();
        let all = Drafts::below(state_dir).all().into_iter().filter(idle);
        all.map(|draft| Sides::open(&draft).map(|sides| (draft, sides))).collect()
    }

    fn find(&self, key: &str) -> io::Result<Option<(Draft, Sides)>> {
        Ok(self.drafts()?.into_iter().find(|(draft, _)| draft.key() == key))
    }

    fn server(&self) -> Option<&Server> {
        match self {
            Self::Server(server) => Some(server),
            Self::Idle { .. } => None,
        }
    }

    fn names(&self) -> Names {
        match self {
            Self::Server(server) => Names::new(&server.config().sandbox.protect),
            Self::Idle { protect, .. } => Names::new(protect),
        }
    }

    /// Servers have an audit log. What a person does with a draft that nobody works on is between the two.
    fn record(&self, draft: &Draft, decision: &'static str, decided: &Decided, viewer: &Viewer) {
        let (project, by) = (draft.project().display().to_string(), viewer.signature("the console"));
        if let Some(server) = self.server() {
            server.audit().record(None, Event::Draft { project, decision, changes: decided.done, by });
        }
    }
}

/// Only a process with a single thread can mount a draft, so our program does it as the person would.
fn discard_outside(draft: &Draft, sides: &Sides, request: &DecisionRequest) -> io::Result<Decided> {
    let before = drafts::changes(draft, sides)?.len();
    let paths = request.paths.iter().flatten().filter_map(|key| path_of(key));
    let named = paths.map(|path| FilePath::new(".").join(path).into_os_string());
    let words: Vec<OsString> = std::iter::once("discard".into()).chain(named).collect();
    let output = run_own_program(&words, draft.project())?;
    let after = if draft.upper().is_dir() { drafts::changes(draft, &Sides::open(draft)?)?.len() } else { 0 };
    let reason = String::from_utf8_lossy(&output.stderr).into_owned();
    let failed = NotDecided { key: String::new(), path: drafts::name(draft.project()), reason, conflict: false };
    let refused = if output.status.success() { Vec::new() } else { vec![failed] };
    Ok(Decided { done: before.saturating_sub(after), refused })
}

/// The request, and what it is about: everything, unless it names paths. A list without a single path is a mistake.
fn read(body: &[u8]) -> Result<(DecisionRequest, Selection), String> {
    let request: DecisionRequest = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let Some(paths) = &request.paths else { return Ok((request, Selection::default())) };
    let paths: Option<Vec<PathBuf>> = paths.iter().map(|path| path_of(path)).collect();
    match paths {
        Some(paths) if !paths.is_empty() => Ok((request, Selection::of(paths))),
        _ => Err(NO_PATH.to_owned()),
    }
}

fn state(draft: &Draft, sides: &Sides, names: &Names) -> io::Result<DraftState> {
    let changes = drafts::changes(draft, sides)?;
    let grouping = Grouping::new(&changes, sides, names, &Selection::default());
    let sum = |kind: &'static str| {
        move |(path, sum): (&PathBuf, &Sum)| SumState {
            key: key_of(path),
            kind,
            path: drafts::name(path),
            text: sum.text(),
        }
    };
    let single: Vec<&Change> = drafts::shown_singly(&grouping).collect();
    Ok(DraftState {
        key: draft.key(),
        project: drafts::name(draft.project()),
        bytes: draft.size().bytes,
        left_out: single.len().saturating_sub(MOST_CHANGES),
        changes: single.into_iter().take(MOST_CHANGES).map(change_state).collect(),
        protected: grouping.protected.iter().take(MOST_CHANGES).map(|change| change_state(change)).collect(),
        sums: grouping.git.iter().map(sum("git")).chain(grouping.ignored.iter().map(sum("ignored"))).collect(),
    })
}

fn change_state(change: &Change) -> ChangeState {
    let (what, more) = drafts::described(change);
    let is_directory = change.draft.or(change.original).is_some_and(|facts| facts.is_directory());
    let slash = if is_directory { "/" } else { "" };
    ChangeState {
        key: key_of(&change.path),
        path: if change.path.as_os_str().is_empty() { ".".to_owned() } else { drafts::name(&change.path) + slash },
        from: change.renamed_from.as_deref().map(|from| drafts::name(from) + slash),
        from_key: change.renamed_from.as_deref().map(key_of),
        what,
        more,
        conflict: change.conflict,
    }
}

fn not_decided(change: &Change, reason: &str, conflict: bool) -> NotDecided {
    NotDecided { key: key_of(&change.path), path: drafts::name(&change.path), reason: reason.to_owned(), conflict }
}

/// A dot begins it: the key of the project's own directory would be empty otherwise.
fn key_of(path: &FilePath) -> String {
    let bytes = path.as_os_str().as_encoded_bytes();
    bytes.iter().fold(".".to_owned(), |text, byte| text + &format!("{byte:02x}"))
}

fn path_of(key: &str) -> Option<PathBuf> {
    let digits = key.strip_prefix('.').filter(|digits| digits.is_ascii() && digits.len() % 2 == 0)?;
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).ok();
    let bytes: Option<Vec<u8>> = (0..digits.len()).step_by(2).map(byte).collect();
    Some(PathBuf::from(OsString::from_vec(bytes?)))
}

async fn found_or_unknown<T: serde::Serialize + Send + 'static>(
    find: impl FnOnce() -> io::Result<Option<T>> + Send + 'static,
) -> Response {
    match worker_threads::run(find).await {
        Ok(Ok(Some(found))) => json(&found),
        Ok(Ok(None)) => problem(StatusCode::NOT_FOUND, "this server does not work on that draft".to_owned()),
        Ok(Err(error)) => failed(&error),
        Err(error) => problem(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
    }
}

fn failed(error: &io::Error) -> Response {
    problem(StatusCode::INTERNAL_SERVER_ERROR, format!("the draft cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_has_a_key() {
        use std::os::unix::ffi::OsStrExt;
        for bytes in [&b""[..], b"a b/c", b"n\xe9\n", b"\xff/.."] {
            let path = FilePath::new(std::ffi::OsStr::from_bytes(bytes));
            assert_eq!(path_of(&key_of(path)).as_deref(), Some(path));
        }
        for key in ["", "61", ".6", ".zz", ".é"] {
            assert_eq!(path_of(key), None, "{key}");
        }
    }
}
