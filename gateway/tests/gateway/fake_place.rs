//! A place that does not do what a testudo does. A command in a place can end the server there and answer in its stead.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use crate::http_client::Client;
use crate::world::Program;

#[derive(Clone)]
pub enum Reply {
    /// A whole answer, in good order.
    Json(String),
    Stream(String),
    /// An answer of this type that never ends.
    Endless(&'static str),
    /// Takes the request and never answers.
    Silence,
}

/// Answers requests by their text until the test ends, and returns the address.
pub fn fake_place(answer: impl Fn(&str) -> Reply + Clone + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let answer = answer.clone();
            std::thread::spawn(move || serve(stream, &answer));
        }
    });
    address
}

/// The answer of a place that seems to be a good one.
pub fn welcome(request: &str) -> Option<Reply> {
    let text = if request.starts_with("GET /health") {
        r#"{"status":"ok"}"#
    } else if request.contains(r#""method":"initialize""#) {
        r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}"#
    } else {
        return None;
    };
    Some(Reply::Json(text.to_owned()))
}

/// A client whose session has begun at such a place.
pub fn client_of(gateway: &Program) -> Client {
    let mut client = Client::new(&gateway.address, "alice-token");
    let reply = client.initialize();
    client.session = reply.header("mcp-session-id").map(str::to_owned);
    client
}

fn serve(mut stream: TcpStream, answer: &impl Fn(&str) -> Reply) {
    while let Some(request) = request(&mut stream) {
        let head = |kind: &str, length: &str| {
            format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nmcp-session-id: s\r\n{length}\r\n\r\n")
        };
        let whole = |kind: &str, body: &str| head(kind, &format!("content-length: {}", body.len())) + body;
        let written = match answer(&request) {
            Reply::Json(body) => stream.write_all(whole("application/json", &body).as_bytes()),
            Reply::Stream(body) => stream.write_all(whole("text/event-stream", &body).as_bytes()),
            Reply::Endless(kind) => {
                let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
                let mut written = stream.write_all(head(kind, "transfer-encoding: chunked").as_bytes());
                while written.is_ok() {
                    written = stream.write_all(chunk.as_bytes());
                }
                written
            }
            Reply::Silence => loop {
                std::thread::park();
            },
        };
        if written.is_err() {
            return;
        }
    }
}

/// The next request with its body.
fn request(stream: &mut TcpStream) -> Option<String> {
    let (mut seen, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let text = String::from_utf8_lossy(&seen).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let mut lengths = head.lines().map(str::to_ascii_lowercase);
            let length = lengths.find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                return Some(text);
            }
        }
        match stream.read(&mut buffer) {
            Ok(count @ 1..) => seen.extend_from_slice(&buffer[..count]),
            _ => return None,
        }
    }
}
