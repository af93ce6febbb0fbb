//! A tunnel: what its client says first is looked at, and the rest is copied.
//!
//! The host may speak first, so its bytes are passed on from the beginning. Those of the client wait until it is clear what
//! the client speaks. TLS has to name the host that the tunnel leads to. Plain HTTP has to be for that host, request by
//! request. Anything else, ssh for example, says nothing about other hosts and is passed on.

use std::sync::atomic::Ordering;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};

use super::client_hello::{self, Hello};
use super::forward;
use super::host::{Host, Target};
use super::refusal::Refusal;
use super::relay::{Rest, Traffic, exchange};
use super::request::{self, Request};

/// `early` is what the client has sent behind its request.
pub async fn run(
    target: &Target,
    early: Vec<u8>,
    client: &mut TcpStream,
    host: &mut TcpStream,
    traffic: &Traffic,
) -> Result<(), Refusal> {
    let opening = async |client: &mut ReadHalf<'_>, to_host: &mut WriteHalf<'_>| {
        first_words(target, early, client, to_host, traffic).await
    };
    exchange(client, host, traffic, opening).await
}

/// Passes on what the client says first, once it is checked. Plain HTTP does not return before its client has gone.
async fn first_words(
    target: &Target,
    mut said: Vec<u8>,
    client: &mut ReadHalf<'_>,
    host: &mut WriteHalf<'_>,
    traffic: &Traffic,
) -> Result<Rest, Refusal> {
    loop {
        match judge(&said, target)? {
            Words::Unfinished => {
                if client.read_buf(&mut said).await? == 0 {
                    // A client that says nothing may still listen.
                    return if said.is_empty() { Ok(Rest::PassOn) } else { Err(Refusal::Gone) };
                }
            }
            Words::Fine => {
                host.write_all(&said).await?;
                traffic.sent.fetch_add(said.len() as u64, Ordering::Relaxed);
                return Ok(Rest::PassOn);
            }
            Words::Http { request, length } => {
                return forward::send(&request, said.split_off(length), client, host, traffic).await;
            }
        }
    }
}

#[derive(Debug)]
enum Words {
    Unfinished,
    Fine,
    Http { request: request::Forward, length: usize },
}

fn judge(said: &[u8], target: &Target) -> Result<Words, Refusal> {
    match spoken(said) {
        Spoken::Unfinished => Ok(Words::Unfinished),
        Spoken::Tls => match client_hello::read(said) {
            Hello::Unfinished if said.len() < client_hello::LARGEST => Ok(Words::Unfinished),
            Hello::Complete(name) => check_name(name, target).map(|()| Words::Fine),
            Hello::Unfinished | Hello::Broken => {
                Err(broken_off(target, "the TLS client says nothing that can be checked"))
            }
        },
        Spoken::Http => match request::read(said, Some(target)) {
            Ok(None) => Ok(Words::Unfinished),
            Ok(Some((Request::Forward(request), length))) => Ok(Words::Http { request, length }),
            Ok(Some((Request::Connect(_), _))) => Err(broken_off(target, "a request asks for a tunnel in a tunnel")),
            Err(reason) => Err(broken_off(target, &format!("a request in it is refused: {reason}"))),
        },
        Spoken::Another => Ok(Words::Fine),
    }
}

fn check_name(name: Option<String>, target: &Target) -> Result<(), Refusal> {
    match (name.as_deref().map(Host::read), &target.host) {
        (Some(Ok(named)), host) if named == *host => Ok(()),
        // Clients name no address.
        (None, Host::Address(_)) => Ok(()),
        (None, Host::Name(_)) => {
            Err(broken_off(target, "the TLS client names no host, so it cannot be held to this one"))
        }
        (Some(_), _) => {
            let name = name.unwrap_or_default();
            Err(broken_off(target, &format!("the TLS client asks for another host, {}", name.escape_debug())))
        }
    }
}

fn broken_off(target: &Target, why: &str) -> Refusal {
    Refusal::NotAllowed(format!(
        "the connection to the host {} (port {}) was broken off: {why}",
        target.host, target.port
    ))
}

/// The protocols that name a host.
enum Spoken {
    Unfinished,
    Tls,
    Http,
    Another,
}

/// Servers are lenient, so whatever one of them could take for TLS or HTTP has to pass the check of that protocol.
fn spoken(said: &[u8]) -> Spoken {
    const LONGEST_METHOD: usize = 8 * 1024;
    let text = said.trim_ascii_start();
    let method = text.iter().take_while(|byte| byte.is_ascii_graphic()).count();
    match (said, text.get(method)) {
        // Every record of TLS, not only the first message of a handshake. A message of SSL 2 can begin TLS, and names nobody.
        ([20..=24, 3, ..] | [0x80..=0xff, _, 1, ..], _) => Spoken::Tls,
        ([20..=24 | 0x80..=0xff] | [0x80..=0xff, _], _) => Spoken::Unfinished,
        _ if text.starts_with(b"SSH-") => Spoken::Another,
        (_, None) if said.len() < LONGEST_METHOD => Spoken::Unfinished,
        // A method and blanks.
        (_, None | Some(b' ' | b'\t' | 0x0b | 0x0c)) => Spoken::Http,
        _ => Spoken::Another,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_says_first_decides() {
        let target = Target::read("a.com:80", None).unwrap();
        for (said, want) in [
            ("", "Unfinished"),
            ("GE", "Unfinished"),
            ("GET / HTTP/1.1\r\nHost:", "Unfinished"),
            ("GET / HTTP/1.1\r\nHost: a.com\r\n\r\n", "Http"),
            ("get / HTTP/1.1\r\nHost: b.com\r\n\r\n", "refused"),
            ("\r\n\r\nGET / HTTP/1.1\r\nHost: b.com\r\n\r\n", "refused"),
            (" GET / HTTP/1.1\r\nHost: b.com\r\n\r\n", "refused"),
            ("GET\t/ HTTP/1.1\r\nHost: b.com\r\n\r\n", "refused"),
            ("G_3.T / HTTP/1.1\r\nHost: b.com\r\n\r\n", "refused"),
            ("THIS-METHOD-IS-VERY-LONG-INDEED", "Unfinished"),
            ("\r\n", "Unfinished"),
            ("SS", "Unfinished"),
            ("GET / HTTP/1.1\r\nHost: b.com\r\n\r\n", "refused"),
            ("CONNECT b.com:443 HTTP/1.1\r\n\r\n", "refused"),
            ("PRI * HTTP/2.0\r\n\r\n", "refused"),
            ("SSH-2.0-OpenSSH\r\n", "Fine"),
            ("\u{16}\u{3}", "Unfinished"),
            ("\u{16}\u{3}\u{1}\0\u{1}x", "refused"),
            ("\u{15}\u{3}\u{1}\0\u{2}\u{1}\0", "refused"),
            ("\u{16}GET /", "Fine"),
            ("\0\u{1}", "Fine"),
        ] {
            let got = judge(said.as_bytes(), &target).map_or("refused".to_owned(), |words| format!("{words:?}"));
            assert!(got.starts_with(want), "{said:?}: {got}");
        }
    }

    #[test]
    fn a_client_of_ssl_2_names_nobody() {
        let target = Target::read("a.com:443", None).unwrap();
        assert!(matches!(judge(&[0x80, 0x2e], &target), Ok(Words::Unfinished)));
        assert!(judge(&[0x80, 0x2e, 1, 3, 1], &target).is_err());
    }

    #[test]
    fn tls_clients_are_held_to_the_host_of_the_tunnel() {
        let name = Target::read("a.com:443", None).unwrap();
        let address = Target::read("1.1.1.1:443", None).unwrap();
        for (named, target, held) in [
            (Some("A.com"), &name, true),
            (Some("b.com"), &name, false),
            (None, &name, false),
            (None, &address, true),
            (Some("b.com"), &address, false),
        ] {
            assert_eq!(check_name(named.map(str::to_owned), target).is_ok(), held, "{named:?} {target}");
        }
    }
}
