//! Asks a client for its roots, if it has declared that it has some. The lifecycle of 2026-07-28 deprecates roots; in it
//! the flags decide where work happens.

#![expect(deprecated, reason = "clients of older protocol versions have roots")]

use std::path::PathBuf;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ClientNotification};
use rmcp::service::Peer;

use crate::server::{Client, Server};

/// Asks unless the client was asked before. Does not wait: calls do, in [`crate::server::Roots::ready`]. Returns whether the
/// client has roots.
pub fn ask_first(server: &Arc<Server>, client: &Arc<Client>, peer: &Peer<RoleServer>) -> bool {
    let offers = offers_roots(peer);
    if offers && let Some(question) = client.roots().ask_first() {
        ask(server, client, peer, question);
    }
    offers
}

/// Asks again, after the client announced a change.
pub fn ask_again(server: &Arc<Server>, client: &Arc<Client>, peer: &Peer<RoleServer>) {
    if offers_roots(peer) {
        ask(server, client, peer, client.roots().ask_again());
    }
}

/// Whether a message announces that the client's roots have changed.
pub fn announces_change(message: &ClientJsonRpcMessage) -> bool {
    let ClientJsonRpcMessage::Notification(notification) = message else { return false };
    matches!(notification.notification, ClientNotification::RootsListChangedNotification(_))
}

fn offers_roots(peer: &Peer<RoleServer>) -> bool {
    peer.peer_info().is_some_and(|info| info.capabilities.roots.is_some())
}

fn ask(server: &Arc<Server>, client: &Arc<Client>, peer: &Peer<RoleServer>, question: u64) {
    let (server, client, peer) = (server.clone(), client.clone(), peer.clone());
    tokio::spawn(async move {
        let uris: Vec<String> = match peer.list_roots().await {
            Ok(listed) => listed.roots.into_iter().map(|root| root.uri).collect(),
            Err(error) => {
                tracing::warn!(%error, "the client did not list its roots; the flags decide where work happens");
                Vec::new()
            }
        };
        let roots: Vec<PathBuf> = uris.iter().filter_map(|uri| path_of(uri)).collect();
        tracing::info!(?roots, "the client's roots");
        if client.roots().is_current(question) {
            let workplace = server.workplace(&roots);
            client.move_to(&workplace);
            if client.sessions().is_empty() {
                server.expect_session(workplace);
            }
        }
        client.roots().answered(question);
    });
}

/// The path of a `file:` URI on this machine, percent-decoded. None for any other URI.
fn path_of(uri: &str) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let rest = uri.get(..7).filter(|scheme| scheme.eq_ignore_ascii_case("file://")).map(|_| &uri[7..])?;
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    if !path.starts_with('/') {
        return None;
    }
    let bytes = percent_decoded(path.as_bytes())?;
    let end = bytes.iter().rposition(|byte| *byte != b'/').map_or(1, |last| last + 1);
    (!bytes.contains(&0)).then(|| PathBuf::from(std::ffi::OsString::from_vec(bytes[..end].to_vec())))
}

fn percent_decoded(text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.iter();
    while let Some(byte) = rest.next() {
        if *byte == b'%' {
            let digit = |byte: Option<&u8>| char::from(*byte?).to_digit(16);
            let (high, low) = (digit(rest.next())?, digit(rest.next())?);
            bytes.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            bytes.push(*byte);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::path_of;
    use std::path::PathBuf;

    #[test]
    fn only_file_uris_of_this_machine_are_paths() {
        let rows = [
            ("file:///a/b", Some("/a/b")),
            ("file:///a/b/", Some("/a/b")),
            ("file:///", Some("/")),
            ("FILE:///a", Some("/a")),
            ("file://localhost/a", Some("/a")),
            ("file:///My%20Proj%23x%20%C3%A9", Some("/My Proj#x é")),
            ("file:///a#b", Some("/a#b")),
            ("file://host/a", None),
            ("file:///a%2", None),
            ("file:///a%zz", None),
            ("file:///a%00b", None),
            ("https://example.test/x", None),
            ("not a uri", None),
            ("", None),
        ];
        for (uri, path) in rows {
            assert_eq!(path_of(uri), path.map(PathBuf::from), "{uri}");
        }
    }
}
