//! A client of one protocol session over HTTP. Each request has its own connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use crate::subject::Subject;

const TOKEN: &str = "bench";

/// A server that listens on a port. It is killed when this value is dropped, and by the kernel if the benchmark is.
pub struct HttpServer {
    child: Child,
    pub address: String,
}

impl HttpServer {
    pub fn start(subject: &Subject, scratch: &Path) -> anyhow::Result<Self> {
        let dying_with_us = ["setpriv", "--pdeathsig", "KILL"].map(str::to_owned);
        let words = dying_with_us.into_iter().chain(subject.words.iter().cloned()).collect();
        let mut command = Subject { words, ..subject.clone() }.command(scratch);
        command.args(["--transport", "http", "--listen", "127.0.0.1:0", "--token", TOKEN]);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        let mut log = BufReader::new(child.stderr.take().context("no stderr")?);
        let mut line = String::new();
        while !line.contains("http://") {
            line.clear();
            ensure!(log.read_line(&mut line)? > 0, "the server did not start to listen");
        }
        let address = line.split_once("http://").and_then(|(_, rest)| rest.split_once('/')).context("no address")?.0;
        let address = address.to_owned();
        // Reads the log on, because a full pipe would block the server.
        std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        Ok(Self { child, address })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub struct HttpSession {
    address: String,
    id: String,
    next: u64,
}

impl HttpSession {
    pub fn open(address: &str) -> anyhow::Result<Self> {
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}});
        let answer = exchange(address, None, &hello)?;
        let (head, _) = answer.split_once("\r\n\r\n").context("no head")?;
        let id = head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).context("no session")?.to_owned();
        exchange(address, Some(&id), &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(Self { address: address.to_owned(), id, next: 0 })
    }

    /// Calls a tool and returns the text of its result.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> anyhow::Result<String> {
        let answer = exchange(&self.address, Some(&self.id), &self.message(tool, arguments))?;
        self.next += 1;
        let event = answer.lines().filter_map(|line| line.strip_prefix("data: ")).find(|data| data.starts_with('{'));
        let message: Value = serde_json::from_str(event.with_context(|| answer.clone())?)?;
        let text = message["result"]["content"][0]["text"].as_str();
        Ok(text.with_context(|| message.to_string())?.to_owned())
    }

    /// Sends a call that asks for progress, and never reads from the connection.
    pub fn ignore(&mut self, command: &str) -> anyhow::Result<TcpStream> {
        let mut message = self.message("bash", &json!({ "command": command }));
        message["params"]["_meta"] = json!({ "progressToken": self.next });
        self.next += 1;
        send(&self.address, Some(&self.id), &message)
    }

    fn message(&self, tool: &str, arguments: &Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments });
        json!({"jsonrpc": "2.0", "id": self.next, "method": "tools/call", "params": params})
    }
}

fn send(address: &str, session: Option<&str>, message: &Value) -> anyhow::Result<TcpStream> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_mins(1)))?;
    let session = session.map(|id| format!("mcp-session-id: {id}\r\n")).unwrap_or_default();
    let body = message.to_string();
    // An answer to HTTP/1.0 is not chunked, so the body can be read as it is.
    let request = format!(
        "POST /mcp HTTP/1.0\r\nhost: {address}\r\nauthorization: Bearer {TOKEN}\r\n{session}content-type: application/json\r\n\
         accept: application/json, text/event-stream\r\ncontent-length: {}\r\n\r\n{body}",
        body.len(),
    );
    stream.write_all(request.as_bytes())?;
    Ok(stream)
}

fn exchange(address: &str, session: Option<&str>, message: &Value) -> anyhow::Result<String> {
    let mut answer = String::new();
    send(address, session, message)?.read_to_string(&mut answer)?;
    ensure!(answer.starts_with("HTTP/1.0 20"), "{answer}");
    Ok(answer)
}
