use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, Path, RawQuery, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use axum::{Extension, Router};
use futures::StreamExt;
use serde::Deserialize;

use super::{Console, PATH, assets, door, guard, headers};
use crate::base::worker_threads;
use crate::control::{Viewer, drafts, json, problem};

type TheConsole = State<Arc<Console>>;
type TheViewer = Extension<Viewer>;

/// No request of the page is longer than this.
const LARGEST_BODY: usize = 1 << 20;

/// A request passes the layers from the last one to the first.
pub fn router(console: Arc<Console>) -> Router {
    let api = Router::new()
        .route("/servers", get(servers))
        .route("/servers/{server}/{*path}", any(ask))
        .route("/events", get(events))
        .route("/history", post(history))
        .route("/timeline", post(timeline));
    let api = match &console.idle_drafts {
        Some(desk) => api.nest("/drafts", drafts::router(desk.clone())),
        None => api,
    };
    let api = api.layer(from_fn_with_state(console.clone(), guard::check));
    let pages = Router::new()
        .route("/login", post(log_in))
        .route("/logout", post(log_out))
        .layer(from_fn(guard::check_page))
        .route("/login", get(use_link))
        .route("/assets/{name}", get(assets::get));
    Router::new()
        .route(PATH, get(page))
        .route(&format!("{PATH}/"), get(page))
        .nest(PATH, pages)
        .nest(&format!("{PATH}/api"), api)
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
        .layer(from_fn(headers::add))
        .with_state(console)
}

async fn page(State(console): TheConsole, headers: HeaderMap) -> Response {
    match console.door.viewer(&headers) {
        Some(_) => assets::html(StatusCode::OK, assets::PAGE),
        None if console.door.is_open() => enter(&console, Viewer::Principal(door::ANYBODY.into())),
        None => not_logged_in(&console),
    }
}

fn enter(console: &Console, viewer: Viewer) -> Response {
    let cookie = console.door.enter(viewer);
    ([(header::SET_COOKIE, cookie)], assets::html(StatusCode::OK, assets::LOGGED_IN)).into_response()
}

fn not_logged_in(console: &Console) -> Response {
    let page = if console.door.takes_tokens() { assets::LOGIN } else { assets::LINK };
    assets::html(StatusCode::UNAUTHORIZED, page)
}

async fn use_link(State(console): TheConsole, headers: HeaderMap, RawQuery(query): RawQuery) -> Response {
    let key = query.as_deref().and_then(|query| query.strip_prefix("key=")).unwrap_or_default();
    if console.door.use_key(key) {
        return enter(&console, Viewer::Owner);
    }
    // The same link again, in the browser that is logged in already.
    match console.door.viewer(&headers) {
        Some(_) => assets::html(StatusCode::OK, assets::LOGGED_IN),
        None => not_logged_in(&console),
    }
}

#[derive(Deserialize)]
struct Credentials {
    #[serde(default)]
    token: String,
}

async fn log_in(State(console): TheConsole, body: Bytes) -> Response {
    let credentials = serde_json::from_slice(&body).unwrap_or(Credentials { token: String::new() });
    match console.door.holder(&credentials.token) {
        Some(viewer) => ([(header::SET_COOKIE, console.door.enter(viewer))], StatusCode::NO_CONTENT).into_response(),
        None => problem(StatusCode::UNAUTHORIZED, "this is not a token of this server".to_owned()),
    }
}

async fn log_out(State(console): TheConsole, headers: HeaderMap) -> Response {
    ([(header::SET_COOKIE, console.door.leave(&headers))], StatusCode::NO_CONTENT).into_response()
}

async fn servers(State(console): TheConsole, Extension(viewer): TheViewer) -> Response {
    json(&console.backend.states(&viewer).await)
}

/// The stream ends with the session: nobody goes on listening after they have logged out.
async fn events(State(console): TheConsole, Extension(viewer): TheViewer, headers: HeaderMap) -> Response {
    let over = console.door.over(&headers);
    let response = console.backend.events(viewer).await;
    response.map(|body| Body::from_stream(body.into_data_stream().take_until(over.cancelled_owned())))
}

async fn ask(
    State(console): TheConsole,
    Extension(viewer): TheViewer,
    Path((server, _)): Path<(String, String)>,
    uri: Uri,
    method: Method,
    body: Bytes,
) -> Response {
    // As it was written: the ids of the API need no decoding.
    let whole = uri.path_and_query().map_or("", |path| path.as_str());
    let path = whole.strip_prefix(&format!("/servers/{server}")).unwrap_or_default();
    if !path.starts_with("/v1/") {
        return StatusCode::NOT_FOUND.into_response();
    }
    console.backend.ask(viewer, &server, method, path, body).await
}

async fn history(State(console): TheConsole, Extension(viewer): TheViewer, body: Bytes) -> Response {
    match serde_json::from_slice(&body) {
        Ok(query) => answer(worker_threads::run(move || console.history.list(&viewer, &query)).await),
        Err(error) => problem(StatusCode::BAD_REQUEST, error.to_string()),
    }
}

async fn timeline(State(console): TheConsole, Extension(viewer): TheViewer, body: Bytes) -> Response {
    match serde_json::from_slice(&body) {
        Ok(query) => answer(worker_threads::run(move || console.history.timeline(&viewer, &query)).await),
        Err(error) => problem(StatusCode::BAD_REQUEST, error.to_string()),
    }
}

fn answer<T: serde::Serialize>(found: Result<std::io::Result<T>, worker_threads::Panicked>) -> Response {
    let failed = |error: String| problem(StatusCode::INTERNAL_SERVER_ERROR, error);
    match found {
        Ok(Ok(found)) => json(&found),
        Ok(Err(error)) => failed(format!("the audit log cannot be read: {error}")),
        Err(error) => failed(error.to_string()),
    }
}
