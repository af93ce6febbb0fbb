//! Who a request comes from. Every token has a name; a client that sends the token is the principal of that name. No
//! principal sees anything of another.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::single_header::single_header;
use super::slots::Slot;
use crate::config::Tokens;

/// The name of the token that a request came with.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Principal(pub Arc<str>);

/// The principal of every request if no token is required.
const ANYBODY: &str = "anybody";

/// Middleware: refuses a request without a valid token, and adds the [`Principal`] to the others. If there are no tokens,
/// every request is accepted.
pub async fn check(State(tokens): State<Arc<Tokens>>, mut request: Request, next: Next) -> Response {
    let name = if tokens.is_empty() {
        Some(ANYBODY.into())
    } else {
        bearer(request.headers()).and_then(|token| tokens.find(token))
    };
    let Some(name) = name else {
        tracing::info!(path = request.uri().path(), "unauthorized");
        let headers =
            [(header::WWW_AUTHENTICATE, "Bearer realm=\"testudo\""), (header::CONTENT_TYPE, "application/json")];
        return (StatusCode::UNAUTHORIZED, headers, r#"{"error":"unauthorized"}"#).into_response();
    };
    if request.extensions().get::<Arc<Slot>>().is_some_and(|slot| !slot.belongs_to(&name)) {
        tracing::warn!(principal = &*name, "too many connections of one token; a new one was refused");
        return (StatusCode::TOO_MANY_REQUESTS, [(header::CONNECTION, "close")], TOO_MANY).into_response();
    }
    request.extensions_mut().insert(Principal(name));
    next.run(request).await
}

const TOO_MANY: &str =
    "this token has its share of the connections; close some ([http] max_connections is for all tokens)\n";

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = single_header(headers, &header::AUTHORIZATION)?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}
