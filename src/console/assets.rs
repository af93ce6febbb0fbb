//! The files of the page. They are part of the program, so the page works offline and needs no build step.

use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

pub const PAGE: &str = include_str!("assets/page.html");
pub const LOGIN: &str = include_str!("assets/login.html");
/// For people who come in by link.
pub const LINK: &str = include_str!("assets/link.html");
/// Shown for a moment after a login by link. It leads on from our own address, so the browser sends the cookie along even if
/// the link was opened from another page.
pub const LOGGED_IN: &str = include_str!("assets/logged_in.html");

macro_rules! files {
    ($($name:literal $kind:ident,)*) => {
        &[$(($name, $kind, include_str!(concat!("assets/", $name))),)*]
    };
}

const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const PICTURE: &str = "image/svg+xml";

const FILES: &[(&str, &str, &str)] = files! {
    "ansi.js" SCRIPT,
    "api.js" SCRIPT,
    "commands.js" SCRIPT,
    "diff.js" SCRIPT,
    "dom.js" SCRIPT,
    "drafts.css" STYLE,
    "drafts.js" SCRIPT,
    "history.js" SCRIPT,
    "hosts.js" SCRIPT,
    "icon.svg" PICTURE,
    "layout.css" STYLE,
    "login.js" SCRIPT,
    "main.js" SCRIPT,
    "output.js" SCRIPT,
    "parts.css" STYLE,
    "parts.js" SCRIPT,
    "questions.js" SCRIPT,
    "rules.js" SCRIPT,
    "signal.js" SCRIPT,
    "stream_lines.js" SCRIPT,
    "terminal.js" SCRIPT,
    "theme.css" STYLE,
    "timeline.js" SCRIPT,
    "virtual_list.js" SCRIPT,
};

pub async fn get(Path(name): Path<String>) -> Response {
    match FILES.iter().find(|(known, ..)| *known == name) {
        Some((_, kind, text)) => {
            ([(header::CONTENT_TYPE, *kind), (header::CACHE_CONTROL, "no-cache")], *text).into_response()
        }
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

pub fn html(status: StatusCode, text: &'static str) -> Response {
    (status, [(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CACHE_CONTROL, "no-store")], text)
        .into_response()
}
