//! A server that hears of no client for the time of its lease ends itself.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::support::{HttpServer, World, nap, until, with_word};

#[test]
fn without_contact_the_server_ends_with_everything_it_runs() {
    let world = World::new();
    // Long enough for the pauses between the requests below on a busy machine.
    let mut server = HttpServer::start(&world, &["--token", "tok", "--lease", "5"]);
    let mut client = server.modern_client("tok");
    let (task, call) = (nap(), nap());
    client.call("bash", json!({"command": format!("sleep {task}"), "run_in_background": true})).ok();
    let params = json!({
        "name": "bash", "arguments": {"command": format!("sleep {call}")},
        "_meta": {"testudo/callId": "a-call-that-goes-on-0"},
    });
    let pending = client.begin("tools/call", params);
    until("it to run", || (!with_word(&call).is_empty()).then_some(()));
    pending.hang_up();
    assert!(server.wait_for_exit().success());
    assert!(server.log().contains("no client was heard of for the time of the lease"), "{}", server.log());
    until("the end of all", || (with_word(&task).is_empty() && with_word(&call).is_empty()).then_some(()));
}

#[test]
fn an_open_request_is_contact_and_a_request_without_a_token_is_none() {
    let world = World::new();
    let mut server = HttpServer::start(&world, &["--token", "tok", "--lease", "3"]);
    // Longer than the lease.
    let mut client = server.modern_client("tok");
    assert_eq!(client.bash("sleep 4; echo whole").stdout(), "whole\n");
    let ended = until("the end", || {
        // Each of these comes well within the lease. At the end nobody listens any more.
        if let Ok(mut probe) = TcpStream::connect(&server.address) {
            let _ = probe.write_all(b"GET /health HTTP/1.0\r\n\r\n").and_then(|()| probe.read(&mut [0; 99]));
        }
        server.exited()
    });
    assert!(ended.success());
}

/// A gateway renews the lease while it waits. A relay between the two may hold a connection that has nobody at its other end.
#[test]
fn the_open_request_of_a_client_that_renews_the_lease_is_no_contact() {
    let world = World::new();
    let mut server = HttpServer::start(&world, &["--token", "tok", "--lease", "5"]);
    let mut client = server.modern_client("tok");
    client.headers.push(("testudo-renews-lease", "1".to_owned()));
    // Longer than the lease, which the requests for the status renew.
    let (began, go) = (world.project().join("began"), world.project().join("go"));
    let wait = format!("touch {}; until test -e {}; do sleep 0.1; done; sleep 600", began.display(), go.display());
    let pending = client.begin("tools/call", json!({"name": "bash", "arguments": {"command": wait}}));
    until("it to run", || began.exists().then_some(()));
    let begin = std::time::Instant::now();
    while begin.elapsed() < std::time::Duration::from_secs(8) {
        let status =
            server.request("GET", "/status", &[("authorization", "Bearer tok"), ("testudo-renews-lease", "1")], b"");
        assert_eq!(status.status, 200);
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    // From here on nobody renews it, and the call is still open.
    std::fs::write(go, "").unwrap();
    assert!(server.wait_for_exit().success());
    drop(pending);
}

#[test]
fn the_status_is_for_those_who_have_the_token() {
    let world = World::new();
    let server = HttpServer::with_token(&world);
    assert_eq!(server.request("GET", "/status", &[], b"").status, 401);
    let status = || -> Value { server.request("GET", "/status", &[("authorization", "Bearer tok")], b"").json() };
    let before = status();
    assert_eq!(before["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(before["sandbox"]["mode"], "workspace-write");
    assert!(before["sandbox"]["level"].is_string(), "{before}");
    assert_eq!((&before["sessions"], &before["commands"]), (&json!(0), &json!(0)));
    let mut client = server.modern_client("tok");
    client.call("bash", json!({"command": format!("sleep {}", nap()), "run_in_background": true})).ok();
    let after = status();
    assert_eq!((&after["sessions"], &after["commands"]), (&json!(1), &json!(1)));
    assert_eq!(before["instance"], after["instance"]);
}
