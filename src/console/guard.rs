//! Holds every request to the door, and keeps other pages of the same browser out.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;

use super::Console;
use crate::control::problem;

/// Middleware: refuses a request that nobody who is logged in has made, and gives the others a
/// [`Viewer`](crate::control::Viewer).
pub async fn check(State(console): State<Arc<Console>>, mut request: Request, next: Next) -> Response {
    let headers = request.headers();
    let by_token = bearer(headers).and_then(|token| console.door.holder(token));
    let viewer = match by_token {
        Some(viewer) => Some(viewer),
        // A browser sends the cookie, no matter which page has made the request.
        None if !is_own_page(request.method(), headers) => return foreign(),
        None => console.door.viewer(headers),
    };
    let Some(viewer) = viewer else {
        return problem(StatusCode::UNAUTHORIZED, "log in first".to_owned());
    };
    request.extensions_mut().insert(viewer);
    next.run(request).await
}

/// Middleware for requests that change something and need no login.
pub async fn check_page(request: Request, next: Next) -> Response {
    if is_own_page(request.method(), request.headers()) { next.run(request).await } else { foreign() }
}

/// Whether the request comes from our own page, or from no page. No page can forge these headers. A request that changes
/// something must have them: every browser sends `Origin` with it.
fn is_own_page(method: &Method, headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let host = text(header::HOST).unwrap_or_default();
    let own =
        |origin: &str| origin.split_once("://").is_some_and(|(_, authority)| authority.eq_ignore_ascii_case(host));
    let site = headers.get("sec-fetch-site").map(|value| value.to_str().unwrap_or_default());
    let same_site = site.is_none_or(|site| ["same-origin", "none"].contains(&site));
    let only_looks = method == Method::GET || method == Method::HEAD;
    same_site && text(header::ORIGIN).map_or(only_looks, own)
}

fn foreign() -> Response {
    problem(StatusCode::FORBIDDEN, "only the page of the console itself may ask this".to_owned())
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_other_pages_are_told_apart() {
        type Headers = &'static [(&'static str, &'static str)];
        let rows: [(&str, Headers, bool); 8] = [
            ("GET", &[], true),
            ("GET", &[("sec-fetch-site", "same-site")], false),
            ("GET", &[("origin", "http://127.0.0.1:3000")], false),
            ("POST", &[], false),
            ("POST", &[("origin", "http://127.0.0.1:9"), ("sec-fetch-site", "same-origin")], true),
            ("POST", &[("origin", "http://localhost:9")], false),
            ("POST", &[("origin", "null")], false),
            ("POST", &[("origin", "http://127.0.0.1:9"), ("sec-fetch-site", "cross-site")], false),
        ];
        for (method, more, want) in rows {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, "127.0.0.1:9".parse().unwrap());
            more.iter().for_each(|(name, value)| drop(headers.insert(*name, value.parse().unwrap())));
            assert_eq!(is_own_page(&method.parse().unwrap(), &headers), want, "{method} {more:?}");
        }
    }
}
