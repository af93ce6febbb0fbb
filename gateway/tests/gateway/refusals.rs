//! What a gateway refuses.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::json;
use sha2::Sha256;

use crate::http_client::{Client, exchange};
use crate::world::World;

#[test]
fn nobody_comes_in_without_a_token_or_from_a_web_page() {
    let world = World::new();
    let server = world.server("project");
    let gateway = world.gateway(&[&server], "");
    for token in ["", "Bearer", "Bearer wrong", "Basic alice-token", "alice-token"] {
        let reply = exchange(&gateway.address, "POST", "/mcp", &[("authorization", token)], "{}").unwrap();
        assert_eq!((reply.status, reply.body.as_str()), (401, r#"{"error":"unauthorized"}"#), "{token}");
    }
    let client = Client::new(&gateway.address, "alice-token");
    assert_eq!(client.send("POST", "{}", &[("origin", "https://evil.example")]).unwrap().status, 403);
    assert_eq!(exchange(&gateway.address, "GET", "/health", &[], "").unwrap().status, 200);
}

#[test]
fn a_forged_expired_or_foreign_session_id_is_refused() {
    let world = World::new();
    let server = world.server("project");
    let gateway = world.gateway(&[&server], "session = 2");
    let client = gateway.client("alice-token");
    let own = client.session.clone().unwrap();
    let asked = |session: &str, token: &str| {
        let mut client = Client { session: Some(session.to_owned()), token: token.to_owned(), ..client.clone() };
        client.request("tools/list", json!({})).status
    };
    assert_eq!(asked(&own, "alice-token"), 200);
    assert_eq!(asked(&own, "bob-token"), 404, "another owner's");
    assert_eq!(asked(&own[..own.len() - 2], "alice-token"), 404, "shortened");
    assert_eq!(asked("", "alice-token"), 404);
    let (head, rest) = own.split_once('.').unwrap();
    assert_eq!(asked(&format!("{head}.A{rest}"), "alice-token"), 404, "changed");
    let other = World::new();
    let elsewhere = other.gateway(&[&server], "");
    let foreign = elsewhere.client("alice-token").session.unwrap();
    assert_eq!(asked(&foreign, "alice-token"), 404, "signed with another key");
    crate::world::until("the session id to expire", || (asked(&own, "alice-token") == 404).then_some(()));
}

/// What a handle would be that sends the gateway somewhere, signed with the gateway's own key.
fn signed(key: &str, kind: &str, place: &str) -> String {
    let payload = json!({"k": kind, "p": place, "o": "alice", "s": "s", "e": u64::MAX}).to_string();
    let text = format!("t1.{}", BASE64.encode(payload));
    let mut mac = Hmac::<Sha256>::new_from_slice(key.trim().as_bytes()).unwrap();
    mac.update(format!("handle\0{text}").as_bytes());
    format!("{text}.{}", BASE64.encode(mac.finalize().into_bytes()))
}

#[test]
fn a_session_id_cannot_name_an_address_even_with_the_right_signature() {
    let world = World::new();
    let server = world.server("project");
    let gateway = world.gateway(&[&server], "patience = 0");
    let own = gateway.client("alice-token");
    let key = world.read("key");
    let asked = |session: String| {
        let mut client = Client { session: Some(session), ..own.clone() };
        client.bash("touch reached")
    };
    assert_eq!(asked(signed(&key, "work", "0")).status, 404, "the place itself does not know the session");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let loopback = listener.local_addr().unwrap().to_string();
    let metadata =
        ["169.254.169.254", "169.254.169.254:80", "http://169.254.169.254/latest/meta-data"].map(str::to_owned);
    let near =
        [loopback.clone(), format!("http://{loopback}/mcp"), "localhost".to_owned(), "1".to_owned(), "-1".to_owned()];
    for place in metadata.into_iter().chain(near) {
        let reply = asked(signed(&key, "work", &place));
        let is_refused = reply.status == 404 || reply.message()["result"]["_meta"]["testudo/outcome"] == "lost";
        assert!(is_refused, "{place}: {reply:?}");
        assert_eq!(asked(signed(&key, &place, "0")).status, 404, "{place} as a kind");
    }
    assert!(listener.accept().is_err(), "nobody was connected to");
    assert!(!world.path("project/reached").exists());
}

#[test]
fn a_header_that_differs_from_the_message_is_refused() {
    let world = World::new();
    let server = world.server("project");
    let gateway = world.gateway(&[&server], "");
    let client = gateway.client("alice-token");
    let call = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {
        "name": "bash", "arguments": {"command": "touch ran"}, "_meta": {"testudo/callId": "0123456789abcdef"},
    }});
    let different = [("mcp-method", "tools/list"), ("mcp-name", "view"), ("testudo-call-id", "fedcba9876543210")];
    for header in different {
        let reply = client.post(&call, &[header]).unwrap();
        assert_eq!(reply.status, 400, "{header:?}: {reply:?}");
        assert_eq!(reply.message()["error"]["code"], -32020);
    }
    assert!(!world.path("project/ran").exists());
}

#[test]
fn a_mistake_in_the_places_file_is_named() {
    let world = World::new();
    let path = |name: &str| world.path(name).display().to_string();
    world.write("twins", "alice one\nbob one\n");
    let files = |tokens: &str| format!("token_file = {:?}\nkey_file = {:?}\n", path(tokens), path("key"));
    let place = format!(
        "[[place]]\nname = \"a\"\nplace = \"http://127.0.0.1:1/mcp\"\nplace_token_file = {:?}\n",
        path("place-token")
    );
    let with = |limits: &str| format!("{}[limits]\n{limits}\n{place}", files("tokens"));
    for (text, named) in [
        ("listne = 1".to_owned(), "listne"),
        ("token_file = \"t\"".to_owned(), "key_file"),
        (files("missing") + &place, "missing"),
        (files("twins") + &place, "the same token"),
        (files("tokens") + &place + &place, "names 2 places \"a\""),
        (files("tokens") + &place.replace("http:", "lxd:"), "is no place; use docker:IMAGE"),
        (files("tokens") + &place + "memroy = 5", "memroy"),
        (with("creates_per_second = 0"), "creates_per_second"),
        (with("total = 0"), "total"),
    ] {
        world.write("wrong.toml", &text);
        let mut command = world.command(std::path::Path::new(crate::world::GATEWAY));
        let output = command.args(["serve", "--places"]).arg(world.path("wrong.toml")).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && errors.contains(named) && !errors.contains("panicked"), "{text}: {errors}");
    }
}
