//! What a command has printed since the last look, for a page that asks again and again. A reader that has fallen far
//! behind gets the end only, so neither side ever holds more than that.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Path, RawQuery, State as Shared};
use axum::response::Response;

use super::Viewer;
use super::api;
use super::output_events::torn;
use super::types::{ScreenState, Tail, TailPart};
use crate::exec::{Recording, Streams, Terminal};
use crate::server::Server;

/// The most bytes of a stream in one answer.
const MOST: u64 = 256 * 1024;

/// `?stdout=N&stderr=N` or `?terminal=N`: how far the reader has come.
pub async fn get(
    Shared(server): Shared<Arc<Server>>,
    Extension(viewer): Extension<Viewer>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Response {
    let Some(printed) = api::visible_output(&server, &viewer, &id) else { return api::no_command(&id) };
    // Asked first: what comes before the end is then in this answer.
    let end = printed.ended();
    let from = |name: &str| api::number(query.as_deref(), name).unwrap_or(0);
    let parts = |name: &str, recording: &Recording| part(name, recording, from(name));
    let (streams, screen) = match &printed.streams {
        Streams::Pipes { stdout, stderr } => {
            ([parts("stdout", stdout), parts("stderr", stderr)].into_iter().flatten().collect(), None)
        }
        Streams::Terminal { terminal, raw } => (Vec::new(), Some(screen(terminal, raw, from("terminal")))),
    };
    api::json(&Tail {
        over: end.is_some(),
        exit_code: end.and_then(|end| end.exit_code),
        ended_by: end.and_then(|end| end.ended_by).map(str::to_owned),
        milliseconds: printed.elapsed(),
        streams,
        screen: screen.flatten(),
    })
}

/// `None` if there is nothing new.
fn part(stream: &str, recording: &Recording, from: u64) -> Option<TailPart> {
    let recorded = recording.get();
    let length = recorded.spill.length();
    let begin = from.max(length.saturating_sub(MOST));
    let mut bytes = vec![0; usize::try_from(length.checked_sub(begin)?.min(MOST)).ok()?];
    let count = recorded.spill.read_at(begin, &mut bytes).ok()?;
    drop(recorded);
    bytes.truncate(count);
    let ended = recording.has_ended();
    // The first bytes of a character whose rest has not been printed yet are read next time.
    let kept = if ended { bytes.len() } else { bytes.len() - torn(&bytes) };
    if kept == 0 {
        return None;
    }
    let text = String::from_utf8_lossy(&bytes[..kept]).into_owned();
    Some(TailPart { stream: stream.to_owned(), left_out: begin - from, next: begin + kept as u64, text })
}

/// `None` if the screen has not changed.
fn screen(terminal: &Terminal, raw: &Recording, seen: u64) -> Option<ScreenState> {
    let now = raw.seen();
    if now == seen && now != 0 {
        return None;
    }
    let (rows, cursor) = terminal.coloured_rows();
    Some(ScreenState { next: now, rows, cursor })
}
