//! A client of one protocol session over HTTP. Like the clients of agents, it keeps its connection.

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
    id: Option<String>,
    next: u64,
    connection: BufReader<TcpStream>,
}

impl HttpSession {
    pub fn open(address: &str) -> anyhow::Result<Self> {
        let connection = connect(address)?;
        let mut session = Self { address: address.to_owned(), id: None, next: 0, connection };
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}});
        let (head, _) = session.exchange(&hello)?;
        let id = field(&head, "mcp-session-id").context("no session")?.to_owned();
        session.id = Some(id);
        session.exchange(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(session)
    }

    /// Calls a tool and returns the text of its result.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> anyhow::Result<String> {
        let (_, answer) = self.exchange(&self.message(tool, arguments))?;
        self.next += 1;
        let event = answer.lines().filter_map(|line| line.strip_prefix("data: ")).find(|data| data.starts_with('{'));
        let message: Value = serde_json::from_str(event.with_context(|| answer.clone())?)?;
        let text = message["result"]["content"][0]["text"].as_str();
        Ok(text.with_context(|| message.to_string())?.to_owned())
    }

    /// Sends a call that asks for progress, and never reads from the connection.
    pub fn ignore(mut self, command: &str) -> anyhow::Result<TcpStream> {
        let mut message = self.message("bash", &json!({ "command": command }));
        message["params"]["_meta"] = json!({ "progressToken": self.next });
        self.send(&message)?;
        Ok(self.connection.into_inner())
    }

    fn message(&self, tool: &str, arguments: &Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments });
        json!({"jsonrpc": "2.0", "id": self.next, "method": "tools/call", "params": params})
    }

    fn send(&mut self, message: &Value) -> anyhow::Result<()> {
        let session = self.id.as_ref().map_or_else(String::new, |id| format!("mcp-session-id: {id}\r\n"));
        let (address, body) = (&self.address, message.to_string());
        let request = format!(
            "POST /mcp HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {TOKEN}\r\n{session}\
             content-type: application/json\r\naccept: application/json, text/event-stream\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len(),
        );
        Ok(self.connection.get_mut().write_all(request.as_bytes())?)
    }

    /// Sends a message. Returns the head and the body of the answer.
    fn exchange(&mut self, message: &Value) -> anyhow::Result<(String, String)> {
        // The server closes a connection that nobody has used for a while.
        if has_ended(self.connection.get_ref())? {
            self.connection = connect(&self.address)?;
        }
        self.send(message)?;
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            ensure!(self.connection.read_line(&mut head)? > 0, "the server has hung up: {head}");
        }
        ensure!(head.starts_with("HTTP/1.1 20"), "{head}");
        let mut body = Vec::new();
        if field(&head, "transfer-encoding").is_some() {
            while self.chunk(&mut body)? > 0 {}
        } else {
            let length: u64 = field(&head, "content-length").map_or(Ok(0), str::parse)?;
            self.connection.by_ref().take(length).read_to_end(&mut body)?;
        }
        Ok((head, String::from_utf8(body)?))
    }

    /// Appends the next chunk of a body, and returns its length.
    fn chunk(&mut self, body: &mut Vec<u8>) -> anyhow::Result<u64> {
        let mut length = String::new();
        self.connection.read_line(&mut length)?;
        let length = u64::from_str_radix(length.trim(), 16)?;
        self.connection.by_ref().take(length).read_to_end(body)?;
        self.connection.read_line(&mut String::new())?;
        Ok(length)
    }
}

fn connect(address: &str) -> anyhow::Result<BufReader<TcpStream>> {
    let connection = TcpStream::connect(address)?;
    connection.set_nodelay(true)?;
    connection.set_read_timeout(Some(Duration::from_mins(1)))?;
    Ok(BufReader::new(connection))
}

/// Whether the other side has closed the connection.
fn has_ended(connection: &TcpStream) -> anyhow::Result<bool> {
    connection.set_nonblocking(true)?;
    let ended = matches!(connection.peek(&mut [0]), Ok(0));
    connection.set_nonblocking(false)?;
    Ok(ended)
}

fn field<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}
