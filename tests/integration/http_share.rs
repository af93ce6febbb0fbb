//! One client cannot take everything from the others: sessions, connections, memory.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::json;

use crate::support::{Exchange, HttpClient, HttpReply, HttpServer, World, peak, text, until};

/// A server with the tokens of alice and bob.
fn two_tokens(world: &World, http: &str) -> HttpServer {
    let (tokens, config) = (world.home().join("tokens"), world.home().join("config.toml"));
    std::fs::write(&tokens, "alice a-secret\nbob b-secret\n").unwrap();
    std::fs::write(&config, format!("[http]\n{http}\n")).unwrap();
    HttpServer::start(world, &["--token-file", &text(&tokens), "--config", &text(&config)])
}

fn initialize(server: &HttpServer, token: &str) -> HttpReply {
    let bearer = format!("Bearer {token}");
    let headers = [
        ("authorization", bearer.as_str()),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
    ];
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    server.request("POST", "/mcp", &headers, hello.to_string().as_bytes())
}

#[test]
fn one_token_cannot_take_all_sessions() {
    let world = World::new();
    let server = two_tokens(&world, "max_sessions = 8");
    let replies: Vec<HttpReply> = (0..8).map(|_| initialize(&server, "a-secret")).collect();
    let statuses: Vec<u16> = replies.iter().map(|reply| reply.status).collect();
    assert_eq!(statuses, [200, 200, 200, 200, 429, 429, 429, 429]);
    assert!(replies[7].json()["error"]["message"].as_str().unwrap().contains("its share of the 8 sessions"));
    server.client("b-secret").bash("true").ok();
}

#[test]
fn one_token_cannot_take_all_connections() {
    let world = World::new();
    let server = two_tokens(&world, "max_connections = 8");
    let clients: Vec<HttpClient> = (0..4).map(|_| server.client("a-secret")).collect();
    let streams: Vec<Exchange> = clients.iter().map(HttpClient::listen).collect();
    until("the streams", || streams.iter().all(|stream| stream.so_far().contains("200 OK")).then_some(()));
    let refused = initialize(&server, "a-secret");
    assert_eq!((refused.status, refused.body.contains("its share of the connections")), (429, true), "{refused:?}");
    server.client("b-secret").bash("true").ok();
    streams.into_iter().for_each(Exchange::hang_up);
    until("room again", || (initialize(&server, "a-secret").status == 200).then_some(()));
}

#[test]
fn connections_without_a_token_do_not_lock_anybody_out() {
    let world = World::new();
    let server = HttpServer::configured(&world, "max_connections = 8");
    let held: Vec<TcpStream> = (0..40)
        .map(|_| {
            let mut stream = TcpStream::connect(&server.address).unwrap();
            stream.write_all(b"POST /mcp HTTP/1.1\r\nhost: localhost\r\nauthor").unwrap();
            stream
        })
        .collect();
    server.client("tok").bash("true").ok();
    assert_eq!(held[0].try_clone().unwrap().read(&mut [0; 16]).unwrap_or_default(), 0, "the oldest was closed");
}

#[test]
fn a_message_of_millions_of_values_costs_little() {
    let world = World::new();
    let server = HttpServer::with_token(&world);
    let mut client = server.client("tok");
    client.bash("true").ok();
    let before = peak(server.pid());
    let many = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"bash","arguments":{{"command":[{}0]}}}}}}"#,
        "0,".repeat((8 << 20) - 200)
    );
    let headers = [
        ("authorization", "Bearer tok"),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
    ];
    let reply = server.request("POST", "/mcp", &headers, many.as_bytes());
    assert_eq!(reply.status, 400, "{reply:?}");
    assert!(reply.body.contains("more than 100000 values"), "{reply:?}");
    let grown = peak(server.pid()) - before;
    assert!(grown < 100 << 10, "{grown} KiB");
    client.bash("true").ok();
}
