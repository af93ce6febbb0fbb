//! A server on a unix socket instead of a port.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::support::{HttpInside, HttpServer, World, http_everywhere, text, until};

fn socket(world: &World) -> String {
    text(&world.home().join("testudo.sock"))
}

#[test]
fn both_lifecycles_are_served_on_a_socket_that_goes_with_the_server() {
    let world = World::new();
    let (path, listen) = (socket(&world), format!("unix:{}", socket(&world)));
    let mut server = HttpServer::start(&world, &["--token", "tok", "--listen", &listen]);
    assert_eq!(server.address, listen);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(server.client("tok").bash("echo one").stdout(), "one\n");
    assert_eq!(server.modern_client("tok").bash("echo two").stdout(), "two\n");
    assert_eq!(server.modern_client("wrong").start("bash", json!({"command": "true"})).reply().status, 401);
    assert_eq!(server.request("GET", "/health", &[], b"").body, r#"{"status":"ok"}"#);
    let foreign = [("host", "evil.example"), ("authorization", "Bearer tok")];
    assert_eq!(server.request("POST", "/mcp", &foreign, b"{}").status, 403, "a forwarded port can lead a browser here");
    server.terminate();
    assert!(server.wait_for_exit().success());
    assert!(!std::path::Path::new(&path).exists());
}

#[test]
fn a_living_servers_socket_is_refused_and_a_dead_ones_is_replaced() {
    let world = World::new();
    let listen = format!("unix:{}", socket(&world));
    let mut first = HttpServer::start(&world, &["--token", "tok", "--listen", &listen]);
    let mut second = HttpServer::spawn(&world, &["--token", "tok", "--listen", &listen]);
    assert!(!second.wait_for_exit().success());
    until("the reason", || second.log().contains("another server listens on this socket").then_some(()));
    assert_eq!(first.client("tok").bash("echo still there").stdout(), "still there\n");
    first.kill();
    let third = HttpServer::start(&world, &["--token", "tok", "--listen", &listen]);
    assert_eq!(third.client("tok").bash("echo again").stdout(), "again\n");
}

#[test]
fn a_file_that_is_no_socket_is_left_alone() {
    let world = World::new();
    let path = socket(&world);
    std::fs::write(&path, "precious").unwrap();
    let mut server = HttpServer::spawn(&world, &["--token", "tok", "--listen", &format!("unix:{path}")]);
    assert!(!server.wait_for_exit().success());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
}

#[test]
fn without_a_token_the_socket_must_be_out_of_reach_of_commands() {
    let world = World::new();
    let inside = format!("unix:{}", text(&world.project().join("server.sock")));
    let mut server = HttpServer::spawn(&world, &["--no-auth", "--listen", &inside]);
    assert!(!server.wait_for_exit().success());
    until("the reason", || server.log().contains("commands can reach this socket").then_some(()));
}

/// Connects to a socket, sends one request and prints what comes back.
const CONNECT: &str = r#"python3 -c '
import socket, sys
try:
    s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])
    s.sendall(b"GET /status HTTP/1.0\r\nhost: localhost\r\n\r\n")
    print("answer:", s.recv(4096).decode())
except OSError as error:
    print("failed:", error)
'"#;

#[test]
fn without_a_token_no_command_gets_in() {
    http_everywhere(&["--no-auth", "--listen", "unix:OUTSIDE/server.sock"], |inside: &HttpInside| {
        let socket = text(&inside.world.outside().join("server.sock"));
        let outside = inside.as_server_user(&format!("{CONNECT} {socket}"));
        assert!(outside.contains("200 OK") && outside.contains("instance"), "{outside}");
        let mut client = inside.server.modern_client("");
        for attempt in [
            format!("{CONNECT} {socket}"),
            format!("(setsid {CONNECT} {socket} &) > out; until grep -q : out; do sleep 0.05; done; cat out"),
        ] {
            let shown = client.bash(&attempt).text();
            assert!(!shown.contains("200 OK") && !shown.contains("instance"), "{shown}");
            assert!(shown.contains("failed:") || shown.contains("403"), "{shown}");
        }
    });
}
