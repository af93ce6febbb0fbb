//! A client that writes plain HTTP and JSON and shares no code with the gateway.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

#[derive(Clone)]
pub struct Client {
    pub address: String,
    pub path: String,
    pub token: String,
    pub session: Option<String>,
    pub capabilities: Value,
    pub next: u64,
}

#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// The last message of the answer.
    #[track_caller]
    pub fn message(&self) -> Value {
        let mut events = self.body.lines().filter_map(|line| line.strip_prefix("data:")).filter(|data| data.len() > 2);
        let text = events.next_back().unwrap_or(&self.body);
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    #[track_caller]
    pub fn text(&self) -> String {
        let message = self.message();
        let text = message["result"]["content"][0]["text"].as_str();
        text.unwrap_or_else(|| panic!("no text: {self:?}")).to_owned()
    }
}

/// Sends one request on a connection of its own. An answer that was cut is what has come of it.
pub fn exchange(
    address: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> std::io::Result<Reply> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_mins(2)))?;
    let mut head = format!("{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n");
    headers.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
    head.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    let mut all = Vec::new();
    stream.read_to_end(&mut all)?;
    let text = String::from_utf8_lossy(&all).into_owned();
    let (head, body) =
        text.split_once("\r\n\r\n").ok_or_else(|| std::io::Error::other(format!("cut off: {text:?}")))?;
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
    let chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
    let body = if chunked { unchunked(body)? } else { body.to_owned() };
    Ok(Reply { status, head: head.to_owned(), body })
}

fn unchunked(mut rest: &str) -> std::io::Result<String> {
    let cut = || std::io::Error::other("the answer was cut off");
    let mut whole = String::new();
    loop {
        let (size, after) = rest.split_once("\r\n").ok_or_else(cut)?;
        let size = usize::from_str_radix(size, 16).map_err(|_| cut())?;
        if size == 0 {
            return Ok(whole);
        }
        whole.push_str(after.get(..size).ok_or_else(cut)?);
        rest = after.get(size + 2..).ok_or_else(cut)?;
    }
}

impl Client {
    /// A client that has not begun anything.
    pub fn new(address: &str, token: &str) -> Self {
        let (address, path, token) = (address.to_owned(), "/mcp".to_owned(), token.to_owned());
        Self { address, path, token, session: None, capabilities: json!({}), next: 0 }
    }

    pub fn begin(address: &str, token: &str) -> Self {
        let mut client = Self::new(address, token);
        client.start();
        client
    }

    /// Begins a session.
    pub fn start(&mut self) {
        let reply = self.initialize();
        assert_eq!(reply.status, 200, "{reply:?}");
        self.session = reply.header("mcp-session-id").map(str::to_owned);
        assert!(self.session.is_some(), "{reply:?}");
        let note = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(self.post(&note, &[]).unwrap().status, 202);
    }

    pub fn initialize(&mut self) -> Reply {
        let about = json!({"name": "t", "version": "1"});
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": self.capabilities, "clientInfo": about});
        self.request("initialize", hello)
    }

    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "calls read better")]
    pub fn request(&mut self, method: &str, params: Value) -> Reply {
        self.next += 1;
        self.post(&json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}), &[]).unwrap()
    }

    #[track_caller]
    pub fn bash(&mut self, command: &str) -> Reply {
        self.request("tools/call", json!({"name": "bash", "arguments": {"command": command}}))
    }

    /// A call with an id of the client's choice. An error is a connection that broke.
    pub fn call_with_id(&mut self, id: &str, command: &str) -> std::io::Result<Reply> {
        self.next += 1;
        let params = json!({"name": "bash", "arguments": {"command": command}, "_meta": {"testudo/callId": id}});
        self.post(&json!({"jsonrpc": "2.0", "id": self.next, "method": "tools/call", "params": params}), &[])
    }

    /// A request of 2026-07-28, which has no sessions.
    #[track_caller]
    pub fn modern(&mut self, method: &str, mut params: Value) -> Reply {
        self.next += 1;
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = self.capabilities.clone();
        let name = params["name"].as_str().unwrap_or_default().to_owned();
        let mut headers = vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)];
        headers.extend((!name.is_empty()).then_some(("mcp-name", name.as_str())));
        self.post(&json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}), &headers).unwrap()
    }

    pub fn post(&self, message: &Value, headers: &[(&str, &str)]) -> std::io::Result<Reply> {
        self.send("POST", &message.to_string(), headers)
    }

    /// Sends a message and sees the events of its answer as they come; the last one is the response.
    pub fn post_and_watch(&self, message: &Value, seen: impl Fn(&Value)) -> Value {
        let mut events = BufReader::new(self.open("POST", &message.to_string()));
        loop {
            let mut line = String::new();
            assert!(events.read_line(&mut line).unwrap() > 0, "the stream ended without a response");
            let Some(event) = line.strip_prefix("data:").and_then(|data| serde_json::from_str(data.trim()).ok()) else {
                continue;
            };
            let event: Value = event;
            if event["id"] == message["id"] && event.get("method").is_none() {
                return event;
            }
            seen(&event);
        }
    }

    /// The stream for what the place says outside of calls, once its head has come.
    pub fn listen(&self) -> TcpStream {
        self.open("GET", "")
    }

    /// Sends a request of a session and reads the head of its answer, which has to be good.
    fn open(&self, method: &str, body: &str) -> TcpStream {
        let session = self.session.as_deref().unwrap();
        let accept = if method == "GET" { "text/event-stream" } else { "application/json, text/event-stream" };
        let head = format!(
            "{method} {} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\naccept: {accept}\r\n\
             content-type: application/json\r\nmcp-session-id: {session}\r\nmcp-protocol-version: 2025-11-25\r\n\
             content-length: {}\r\n\r\n{body}",
            self.path,
            self.address,
            self.token,
            body.len()
        );
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_mins(2))).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        let (mut seen, mut byte) = (Vec::new(), [0]);
        while !seen.ends_with(b"\r\n\r\n") {
            stream.read_exact(&mut byte).unwrap();
            seen.push(byte[0]);
        }
        assert!(seen.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&seen));
        stream
    }

    pub fn send(&self, method: &str, body: &str, headers: &[(&str, &str)]) -> std::io::Result<Reply> {
        let bearer = format!("Bearer {}", self.token);
        let mut all = vec![
            ("authorization", bearer.as_str()),
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
        ];
        if let Some(session) = &self.session {
            all.extend([("mcp-session-id", session.as_str()), ("mcp-protocol-version", "2025-11-25")]);
        }
        all.extend(headers);
        exchange(&self.address, method, &self.path, &all, body)
    }
}
