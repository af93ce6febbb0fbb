//! Against web pages that talk to a local server behind their user's back. A page can make a browser send requests here,
//! even under a name of its own that resolves to this machine, but it cannot forge `Host` and `Origin`.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// Who may call, by the names that browsers vouch for.
#[derive(Clone, Debug)]
pub struct Callers {
    hosts: Vec<String>,
    /// Listening on every address, any address is ours; only names can be made to point here.
    any_address: bool,
    origins: Vec<String>,
}

impl Callers {
    pub fn new(listen: SocketAddr, hosts: &[String], origins: &[String]) -> Self {
        let own = ["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned(), listen.ip().to_string()];
        Self {
            hosts: own.into_iter().chain(hosts.iter().map(|host| host.to_ascii_lowercase())).collect(),
            any_address: listen.ip().is_unspecified(),
            origins: origins.iter().map(|origin| origin.trim_end_matches('/').to_ascii_lowercase()).collect(),
        }
    }

    fn allows_host(&self, authority: &str) -> bool {
        let Ok(authority) = authority.parse::<Authority>() else { return false };
        let host = authority.host().trim_matches(['[', ']']).to_ascii_lowercase();
        self.hosts.contains(&host) || (self.any_address && host.parse::<IpAddr>().is_ok())
    }

    /// A page that this server itself has shown, or one that was configured.
    fn allows_origin(&self, origin: &str, host: &str) -> bool {
        let own = origin.split_once("://").is_some_and(|(_, authority)| authority.eq_ignore_ascii_case(host));
        own || self.is_configured(origin)
    }

    fn is_configured(&self, origin: &str) -> bool {
        self.origins.contains(&origin.to_ascii_lowercase())
    }
}

/// Refuses strangers with 403, and tells browsers about the pages that were configured: CORS is off for all others.
pub async fn check(State(callers): State<Arc<Callers>>, request: Request, next: Next) -> Response {
    let Some(host) = single(request.headers(), &header::HOST).filter(|host| callers.allows_host(host)) else {
        return refused("Host", "allowed_hosts");
    };
    if !request.headers().contains_key(header::ORIGIN) {
        return next.run(request).await;
    }
    let Some(origin) = single(request.headers(), &header::ORIGIN).filter(|origin| callers.allows_origin(origin, host))
    else {
        return refused("Origin", "allowed_origins");
    };
    if !callers.is_configured(origin) {
        return next.run(request).await;
    }
    let origin = request.headers()[header::ORIGIN].clone();
    let preflight =
        request.method() == Method::OPTIONS && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    let mut response = if preflight { StatusCode::NO_CONTENT.into_response() } else { next.run(request).await };
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.append(header::VARY, HeaderValue::from_static("Origin"));
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("Mcp-Session-Id"));
    if preflight {
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, DELETE"));
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(ALLOWED_HEADERS));
    }
    response
}

const ALLOWED_HEADERS: &str = "Authorization, Content-Type, Accept, Last-Event-ID, Mcp-Session-Id, \
                               MCP-Protocol-Version, Mcp-Method, Mcp-Name";

/// A header that is there once and readable.
fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut all = headers.get_all(name).iter();
    let (Some(only), None) = (all.next(), all.next()) else { return None };
    only.to_str().ok()
}

fn refused(header: &str, setting: &str) -> Response {
    tracing::info!(header, "a request was refused");
    let text = format!("{header} is not allowed here; the [http] setting {setting} lists who may call\n");
    (StatusCode::FORBIDDEN, text).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn callers(listen: &str) -> Callers {
        Callers::new(listen.parse().unwrap(), &["dev.example".to_owned()], &["https://app.example/".to_owned()])
    }

    #[test]
    fn hosts() {
        let local = callers("127.0.0.1:8731");
        for host in ["localhost", "LOCALHOST:1", "127.0.0.1:8731", "[::1]:8731", "dev.example:443"] {
            assert!(local.allows_host(host), "{host}");
        }
        for host in ["", "evil.example", "localhost.evil.example", "192.168.1.2:8731", "127.0.0.1@evil.example"] {
            assert!(!local.allows_host(host), "{host}");
        }
        let everywhere = callers("0.0.0.0:8731");
        assert!(everywhere.allows_host("192.168.1.2:8731"));
        assert!(!everywhere.allows_host("evil.example"));
    }

    #[test]
    fn origins() {
        let local = callers("127.0.0.1:8731");
        for origin in ["http://localhost:8731", "https://LOCALHOST:8731", "https://app.example"] {
            assert!(local.allows_origin(origin, "localhost:8731"), "{origin}");
        }
        for origin in ["null", "", "http://localhost:3000", "http://app.example", "https://app.example.evil.example"] {
            assert!(!local.allows_origin(origin, "localhost:8731"), "{origin}");
        }
    }
}
