//! The lines of an output by their numbers, for a page that shows any part of it.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Path, RawQuery, State as Shared};
use axum::http::StatusCode;
use axum::response::Response;

use super::types::Lines;
use super::{Viewer, api};
use crate::base::worker_threads;
use crate::exec::{Recording, Streams, read_raw_lines};
use crate::server::Server;

/// The most lines in one answer, and the most bytes of each.
const MOST_LINES: u64 = 1000;
const LONGEST_LINE: usize = 4000;

/// `?from=N&count=N`, of `stdout`, `stderr` or `terminal`.
pub async fn get(
    Shared(server): Shared<Arc<Server>>,
    Extension(viewer): Extension<Viewer>,
    Path((id, stream)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Response {
    let Some(printed) = api::visible_output(&server, &viewer, &id) else { return api::no_command(&id) };
    let Some(recording) = recording(&printed.streams, &stream) else {
        return api::problem(StatusCode::NOT_FOUND, format!("{id} has no stream {stream:?}"));
    };
    let from = api::number(query.as_deref(), "from").unwrap_or(1).max(1);
    let count = api::number(query.as_deref(), "count").unwrap_or(MOST_LINES).clamp(1, MOST_LINES);
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    match worker_threads::run(move || read_raw_lines(&recording, from, count, LONGEST_LINE)).await {
        Ok(Ok((lines, total))) => api::json(&Lines { from, lines, total }),
        Ok(Err(error)) => api::problem(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
        Err(error) => api::problem(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
    }
}

fn recording(streams: &Streams, name: &str) -> Option<Recording> {
    match (streams, name) {
        (Streams::Pipes { stdout, .. }, "stdout") => Some(stdout.clone()),
        (Streams::Pipes { stderr, .. }, "stderr") => Some(stderr.clone()),
        (Streams::Terminal { raw, .. }, "terminal") => Some(raw.clone()),
        _ => None,
    }
}
