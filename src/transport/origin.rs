//! Protects a local server against web pages. A page can make the browser send requests to this server without its user
//! knowing, even under a domain of the page that resolves to this machine (DNS rebinding). But it cannot forge the headers
//! `Host` and `Origin`.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::single_header::single_header;
use crate::config::Listen;

/// The values of `Host` and `Origin` that are accepted.
#[derive(Clone, Debug)]
pub struct AllowedCallers {
    hosts: Vec<String>,
    /// The server listens on every address, so any IP address may be its own. A host *name* must still be known: only a
    /// name can be made to point here.
    any_address: bool,
    origins: Vec<String>,
}

impl AllowedCallers {
    pub fn new(listen: &Listen, hosts: &[String], origins: &[String]) -> Self {
        let ip = match listen {
            Listen::Tcp(address) => Some(address.ip()),
            Listen::Unix(_) => None,
        };
        let own = ["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
        let own = own.into_iter().chain(ip.map(|ip| ip.to_string()));
        Self {
            hosts: own.chain(hosts.iter().map(|host| host.to_ascii_lowercase())).collect(),
            any_address: ip.is_some_and(|ip| ip.is_unspecified()),
            origins: origins.iter().map(|origin| origin.trim_end_matches('/').to_ascii_lowercase()).collect(),
        }
    }

    fn allows_host(&self, authority: &str) -> bool {
        let Ok(authority) = authority.parse::<Authority>() else { return false };
        // Only a host and a port, no user name and no second host.
        let rest = authority.as_str().strip_prefix(authority.host());
        let port = rest.map(|rest| rest.strip_prefix(':').unwrap_or(rest));
        if !port.is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit())) {
            return false;
        }
        let host = authority.host().trim_matches(['[', ']']).to_ascii_lowercase();
        self.hosts.contains(&host) || (self.any_address && host.parse::<IpAddr>().is_ok())
    }

    /// A page of this server itself, or one that is configured.
    fn allows_origin(&self, origin: &str, host: &str) -> bool {
        let own = origin.split_once("://").is_some_and(|(_, authority)| authority.eq_ignore_ascii_case(host));
        own || self.is_configured(origin)
    }

    fn is_configured(&self, origin: &str) -> bool {
        self.origins.contains(&origin.to_ascii_lowercase())
    }
}

/// Middleware: refuses other hosts and origins with 403, and sends CORS headers to the configured pages only.
pub async fn check(State(callers): State<Arc<AllowedCallers>>, request: Request, next: Next) -> Response {
    let Some(host) = single_header(request.headers(), &header::HOST).filter(|host| callers.allows_host(host)) else {
        return refused("Host", "allowed_hosts");
    };
    // A request can name a host in its first line too, and that one would count more than the header.
    if request.uri().authority().is_some_and(|authority| !callers.allows_host(authority.as_str())) {
        return refused("Host", "allowed_hosts");
    }
    if !request.headers().contains_key(header::ORIGIN) {
        return next.run(request).await;
    }
    let origin = single_header(request.headers(), &header::ORIGIN);
    let Some(origin) = origin.filter(|origin| callers.allows_origin(origin, host)) else {
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
                               MCP-Protocol-Version, Mcp-Method, Mcp-Name, Testudo-Call-Id";

fn refused(header: &str, setting: &str) -> Response {
    tracing::info!(header, "a request with a foreign header was refused");
    let text = format!("this {header} is not allowed; [http] {setting} in the configuration lists the allowed ones\n");
    (StatusCode::FORBIDDEN, text).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn callers(listen: &str) -> AllowedCallers {
        let listen = Listen::Tcp(listen.parse().unwrap());
        AllowedCallers::new(&listen, &["dev.example".to_owned()], &["https://app.example/".to_owned()])
    }

    #[test]
    fn hosts() {
        let local = callers("127.0.0.1:8731");
        for host in ["localhost", "LOCALHOST:1", "127.0.0.1:8731", "[::1]:8731", "dev.example:443"] {
            assert!(local.allows_host(host), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "localhost.evil.example",
            "192.168.1.2:8731",
            "127.0.0.1@evil.example",
            "user:pw@localhost",
            "localhost:1,evil.example",
        ] {
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
