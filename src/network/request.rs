//! The head of an HTTP request, as a proxy understands it.

use super::body::Framing;
use super::host::Target;

/// The largest head.
pub const LARGEST: usize = 32 * 1024;
const MOST_HEADERS: usize = 128;

/// What a client wants.
#[derive(Debug, Eq, PartialEq)]
pub enum Request {
    /// A tunnel.
    Connect(Target),
    /// One request for plain HTTP.
    Forward(Forward),
}

/// A request for plain HTTP.
#[derive(Debug, Eq, PartialEq)]
pub struct Forward {
    pub target: Target,
    /// The head that the server gets. It asks the server to close the connection after the answer, so there is no further
    /// request on it.
    pub head: Vec<u8>,
    pub body: Framing,
    /// The client wants to speak another protocol after the answer.
    pub upgrades: bool,
}

/// What is wrong with a request.
pub type Wrong = &'static str;

/// A head that came completely, and its length. `None` if it has not come completely. `within` is the host at the other
/// end, if the client is in a tunnel already: the request has to be for that host.
pub fn read(bytes: &[u8], within: Option<&Target>) -> Result<Option<(Request, usize)>, Wrong> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let length = match request.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) if bytes.len() < LARGEST => return Ok(None),
        Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => return Err("its head is too large"),
        Err(_) => return Err("it is no HTTP request"),
    };
    let (Some(method), Some(path)) = (request.method, request.path) else { return Err("it is no HTTP request") };
    if method == "CONNECT" {
        let target = Target::read(path, None)?;
        if within.is_some() {
            return Err("it asks for a tunnel in a tunnel");
        }
        return Ok(Some((Request::Connect(target), length)));
    }
    Ok(Some((Request::Forward(forward(method, path, request.headers, within)?), length)))
}

fn forward(
    method: &str,
    path: &str,
    headers: &[httparse::Header<'_>],
    within: Option<&Target>,
) -> Result<Forward, Wrong> {
    let usual = within.map_or(80, |within| within.port);
    let (target, path) = match path.split_once("://") {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => {
            let end = rest.find(['/', '?']).unwrap_or(rest.len());
            (Some(Target::read(&rest[..end], Some(usual))?), &rest[end..])
        }
        Some(_) if !path.starts_with('/') => {
            return Err("only http:// can be asked for in this way; https needs CONNECT");
        }
        _ => (None, path),
    };
    let host = one(headers, "host")?;
    let named = host.map(|host| Target::read(host, Some(usual))).transpose()?;
    let target = target.or_else(|| within.and(named.clone())).ok_or("it names no host")?;
    if named.is_some_and(|named| named != target) {
        return Err("its Host header names another host than it asks for");
    }
    if within.is_some_and(|within| *within != target) {
        return Err("its Host header names another host than the tunnel leads to");
    }
    let slash = if path.starts_with('/') || path == "*" { "" } else { "/" };
    // HTTP/2 could name a further host in each request.
    let upgrade = one(headers, "upgrade")?.filter(|protocol| protocol.eq_ignore_ascii_case("websocket"));
    let mut head = format!("{method} {slash}{path} HTTP/1.1\r\nHost: {}\r\n", authority(&target)).into_bytes();
    for header in headers.iter().filter(|header| !is_ours(header.name)) {
        head.extend([header.name.as_bytes(), b": ", header.value, b"\r\n"].concat());
    }
    head.extend(match upgrade {
        Some(protocol) => format!("Connection: Upgrade\r\nUpgrade: {protocol}\r\n\r\n").into_bytes(),
        None => b"Connection: close\r\n\r\n".to_vec(),
    });
    Ok(Forward { target, head, body: framing(headers)?, upgrades: upgrade.is_some() })
}

/// Headers about the connection between the client and us.
fn is_ours(name: &str) -> bool {
    let ours = ["host", "connection", "keep-alive", "upgrade", "te"];
    let name = name.to_ascii_lowercase();
    ours.contains(&name.as_str()) || name.starts_with("proxy-")
}

fn authority(target: &Target) -> String {
    let full = target.to_string();
    if target.port == 80 { full.strip_suffix(":80").unwrap_or(&full).to_owned() } else { full }
}

/// Two different servers could take different ones of two headers, so there must not be two.
fn one<'a>(headers: &[httparse::Header<'a>], name: &str) -> Result<Option<&'a str>, Wrong> {
    let mut found = headers.iter().filter(|header| header.name.eq_ignore_ascii_case(name));
    let first = found.next();
    if found.next().is_some() {
        return Err("it has a header twice that may come only once");
    }
    first.map(|header| std::str::from_utf8(header.value).map(str::trim)).transpose().map_err(|_| "a header is no text")
}

fn framing(headers: &[httparse::Header<'_>]) -> Result<Framing, Wrong> {
    match (one(headers, "content-length")?, one(headers, "transfer-encoding")?) {
        (None, None) => Ok(Framing::Length(0)),
        (Some(length), None) if length.bytes().all(|byte| byte.is_ascii_digit()) => {
            length.parse().map(Framing::Length).map_err(|_| "its length is no number")
        }
        (None, Some(coding)) if coding.eq_ignore_ascii_case("chunked") => Ok(Framing::Chunked),
        _ => Err("where its body ends is not clear"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forwarded(text: &str, within: Option<&str>) -> Result<String, Wrong> {
        let within = within.map(|within| Target::read(within, None).unwrap());
        match read(text.as_bytes(), within.as_ref())? {
            Some((Request::Forward(forward), _)) => Ok(String::from_utf8(forward.head).unwrap()),
            Some((Request::Connect(target), _)) => Ok(format!("tunnel to {target}")),
            None => Ok("unfinished".to_owned()),
        }
    }

    #[test]
    fn requests_are_read_as_a_proxy_reads_them() {
        let plain = "GET http://Example.com/a?b HTTP/1.1\r\nHost: example.com\r\nProxy-Authorization: x\r\nConnection: \
                     keep-alive\r\nAccept: */*\r\n\r\n";
        let want = "GET /a?b HTTP/1.1\r\nHost: example.com\r\nAccept: */*\r\nConnection: close\r\n\r\n";
        assert_eq!(forwarded(plain, None).as_deref(), Ok(want));
        assert_eq!(
            forwarded("CONNECT example.com:443 HTTP/1.1\r\n\r\n", None).as_deref(),
            Ok("tunnel to example.com:443")
        );
        assert_eq!(forwarded("GET http://example.com", None).as_deref(), Ok("unfinished"));
        let query = forwarded("GET http://example.com?x HTTP/1.0\r\n\r\n", None).unwrap();
        assert!(query.starts_with("GET /?x HTTP/1.1\r\nHost: example.com\r\n"), "{query}");
        let socket = "GET /chat HTTP/1.1\r\nHost: a.com\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
        assert!(
            forwarded(socket, Some("a.com:80")).unwrap().ends_with("Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
        );
        let http_2 = forwarded(&socket.replace("websocket", "h2c"), Some("a.com:80")).unwrap();
        assert!(http_2.ends_with("\r\nConnection: close\r\n\r\n") && !http_2.contains("h2c"), "{http_2}");
    }

    #[test]
    fn a_request_for_two_hosts_at_once_is_refused() {
        for (text, within) in [
            ("GET http://a.com/ HTTP/1.1\r\nHost: b.com\r\n\r\n", None),
            ("GET http://a.com/ HTTP/1.1\r\nHost: a.com\r\nHost: b.com\r\n\r\n", None),
            ("GET http://a.com:81/ HTTP/1.1\r\nHost: a.com:82\r\n\r\n", None),
            ("GET http://user@a.com/ HTTP/1.1\r\n\r\n", None),
            ("GET https://a.com/ HTTP/1.1\r\n\r\n", None),
            ("GET / HTTP/1.1\r\nHost: a.com\r\n\r\n", None),
            ("GET / HTTP/1.1\r\nHost: b.com\r\n\r\n", Some("a.com:80")),
            ("GET / HTTP/1.1\r\n\r\n", Some("a.com:80")),
            ("GET http://b.com/ HTTP/1.1\r\nHost: a.com\r\n\r\n", Some("a.com:80")),
            ("CONNECT b.com:443 HTTP/1.1\r\n\r\n", Some("a.com:80")),
            ("POST http://a.com/ HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", None),
            ("POST http://a.com/ HTTP/1.1\r\nContent-Length: +5\r\n\r\n", None),
            ("POST http://a.com/ HTTP/1.1\r\nTransfer-Encoding: chunked, identity\r\n\r\n", None),
            ("CONNECT 0x7f.1:443 HTTP/1.1\r\n\r\n", None),
            ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Some("a.com:80")),
        ] {
            assert!(forwarded(text, within).is_err(), "{text}");
        }
        assert!(read(&vec![b'a'; LARGEST + 1], None).is_err());
    }
}
