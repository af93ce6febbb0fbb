//! A server that listens on a port, and clients that write plain HTTP and JSON. The clients share no code with the
//! server, so a bug there cannot hide here.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Reply, World, until};

pub struct HttpServer {
    child: Child,
    log: Arc<Mutex<String>>,
    /// `127.0.0.1:PORT` or `unix:PATH`.
    pub address: String,
}

impl HttpServer {
    /// Starts in the world's project and waits until the server listens.
    pub fn start(world: &World, arguments: &[&str]) -> Self {
        Self::spawn(world, arguments).listening()
    }

    /// Like [`HttpServer::start`], with the token `tok`.
    pub fn with_token(world: &World) -> Self {
        Self::start(world, &["--token", "tok"])
    }

    /// Like [`HttpServer::with_token`], with settings of `[http]` that have no flag.
    pub fn configured(world: &World, http: &str) -> Self {
        let file = world.home().join("config.toml");
        std::fs::write(&file, format!("[http]\n{http}\n")).unwrap();
        Self::start(world, &["--token", "tok", "--config", file.to_str().unwrap()])
    }

    pub fn start_with(command: Command) -> Self {
        Self::run(command).listening()
    }

    fn listening(mut self) -> Self {
        self.address = until("the address on stderr", || {
            let log = self.log();
            let (_, rest) = log.split_once("testudo listens on ")?;
            let address = rest.split_once("/mcp")?.0.trim_start_matches("http://");
            Some(address.split(", at the path").next()?.to_owned())
        });
        self
    }

    /// Starts without waiting, for tests in which the server may refuse to start.
    pub fn spawn(world: &World, arguments: &[&str]) -> Self {
        let listen = if arguments.contains(&"--listen") { &[][..] } else { &["--listen", "127.0.0.1:0"] };
        let arguments = [&["--transport", "http"], listen, arguments].concat();
        Self::run(world.command(&arguments))
    }

    fn run(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let (mut errors, log) = (child.stderr.take().unwrap(), Arc::new(Mutex::new(String::new())));
        let kept = log.clone();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = errors.read(&mut buffer) {
                kept.lock().unwrap().push_str(&String::from_utf8_lossy(&buffer[..count]));
            }
        });
        Self { child, log, address: String::new() }
    }

    pub fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Kills the server without a chance to say anything.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub fn terminate(&self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    }

    pub fn exited(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap()
    }

    #[track_caller]
    pub fn wait_for_exit(&mut self) -> ExitStatus {
        until("the server to end", || self.exited())
    }

    /// Sends one request exactly as given.
    pub fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> HttpReply {
        Exchange::begin(&self.address, method, path, headers, body).reply()
    }

    /// A client of 2025-11-25, the lifecycle with sessions.
    pub fn client(&self, token: &str) -> HttpClient {
        self.client_with(token, &json!({}))
    }

    /// Like [`HttpServer::client`], with capabilities.
    pub fn client_with(&self, token: &str, capabilities: &Value) -> HttpClient {
        let mut client = HttpClient {
            address: self.address.clone(),
            token: token.to_owned(),
            session: None,
            modern: false,
            capabilities: json!({}),
            headers: Vec::new(),
            next: 0,
        };
        let hello = json!({
            "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": {"name": "test", "version": "1"},
        });
        let reply = client.begin("initialize", hello).reply();
        client.session = reply.header("mcp-session-id").map(str::to_owned);
        assert!(client.session.is_some(), "{reply:?}");
        client.notify("notifications/initialized", json!({}));
        client
    }

    /// A client of 2026-07-28, the lifecycle without sessions.
    pub fn modern_client(&self, token: &str) -> HttpClient {
        HttpClient {
            address: self.address.clone(),
            token: token.to_owned(),
            session: None,
            modern: true,
            capabilities: json!({}),
            headers: Vec::new(),
            next: 0,
        }
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub struct HttpClient {
    pub address: String,
    pub token: String,
    pub session: Option<String>,
    modern: bool,
    /// Sent with every request in the lifecycle of 2026-07-28.
    pub capabilities: Value,
    /// Sent with every request.
    pub headers: Vec<(&'static str, String)>,
    next: u64,
}

impl HttpClient {
    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: Value) -> Reply {
        self.start(tool, arguments).reply().tool()
    }

    #[track_caller]
    pub fn bash(&mut self, command: &str) -> Reply {
        self.call("bash", json!({ "command": command }))
    }

    /// Sends a tool call without waiting for its answer.
    pub fn start(&mut self, tool: &str, arguments: Value) -> Exchange {
        self.begin("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    pub fn begin(&mut self, method: &str, params: Value) -> Exchange {
        self.next += 1;
        self.begin_as(json!(self.next), method, params)
    }

    pub fn begin_as(&self, id: Value, method: &str, mut params: Value) -> Exchange {
        if self.modern {
            let meta = &mut params["_meta"];
            meta["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
            meta["io.modelcontextprotocol/clientCapabilities"] = self.capabilities.clone();
        }
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.post(method, params["name"].as_str().or(params["uri"].as_str()), &message)
    }

    pub fn notify(&self, method: &str, params: Value) {
        let reply = self.post(method, None, &json!({"jsonrpc": "2.0", "method": method, "params": params})).reply();
        assert_eq!(reply.status, 202, "{reply:?}");
    }

    /// Answers a request that came from the server.
    pub fn respond(&self, request: &Value, result: &Value) {
        let reply = self.post("", None, &json!({"jsonrpc": "2.0", "id": request["id"], "result": result})).reply();
        assert_eq!(reply.status, 202, "{reply:?}");
    }

    pub fn delete(&self) -> HttpReply {
        self.exchange("DELETE", &[], b"").reply()
    }

    /// Opens the stream on which the server sends requests and notifications outside of calls.
    pub fn listen(&self) -> Exchange {
        self.exchange("GET", &[("accept", "text/event-stream")], b"")
    }

    /// Opens a stream that repeats everything after an event.
    pub fn resume(&self, event: &str) -> Exchange {
        self.exchange("GET", &[("accept", "text/event-stream"), ("last-event-id", event)], b"")
    }

    fn post(&self, method: &str, name: Option<&str>, message: &Value) -> Exchange {
        let mut headers = vec![("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
        if self.modern {
            headers.push(("mcp-method", method));
            headers.extend(name.map(|name| ("mcp-name", name)));
        }
        self.exchange("POST", &headers, message.to_string().as_bytes())
    }

    fn exchange(&self, method: &str, headers: &[(&str, &str)], body: &[u8]) -> Exchange {
        let bearer = format!("Bearer {}", self.token);
        let mut all = vec![("authorization", bearer.as_str())];
        match &self.session {
            Some(session) => all.extend([("mcp-session-id", session.as_str()), ("mcp-protocol-version", "2025-11-25")]),
            None if self.modern => all.push(("mcp-protocol-version", "2026-07-28")),
            None => {}
        }
        all.extend(self.headers.iter().map(|(name, value)| (*name, value.as_str())));
        all.extend(headers);
        Exchange::begin(&self.address, method, "/mcp", &all, body)
    }
}

/// A request on its own connection. A thread reads the answer as it comes.
pub struct Exchange {
    stream: TcpStream,
    seen: Arc<Mutex<Vec<u8>>>,
    reading: JoinHandle<()>,
}

impl Exchange {
    pub fn begin(address: &str, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Self {
        let mut stream = connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        let mut head = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
        if !headers.iter().any(|(name, _)| *name == "host") {
            let host = if address.starts_with(UNIX) { "localhost" } else { address };
            head.push_str(&format!("host: {host}\r\n"));
        }
        headers.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
        head.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
        // A server may refuse a request and close the connection before it has read all. Its answer can still be read.
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (mut input, kept) = (stream.try_clone().unwrap(), seen.clone());
        let reading = std::thread::spawn(move || {
            let mut buffer = [0; 16 * 1024];
            while let Ok(count @ 1..) = input.read(&mut buffer) {
                kept.lock().unwrap().extend_from_slice(&buffer[..count]);
            }
        });
        Self { stream, seen, reading }
    }

    /// The bytes that have come up to now.
    pub fn so_far(&self) -> String {
        String::from_utf8_lossy(&self.seen.lock().unwrap()).into_owned()
    }

    /// The server's requests of this method on this stream up to now.
    pub fn requests(&self, method: &str) -> Vec<Value> {
        let seen = self.so_far();
        let messages = seen.lines().filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data:")?).ok());
        messages.filter(|message| message["method"] == method && message.get("id").is_some()).collect()
    }

    /// Whether the server has closed the connection.
    pub fn is_over(&self) -> bool {
        self.reading.is_finished()
    }

    pub fn hang_up(self) {
        self.stream.shutdown(Shutdown::Both).unwrap();
        self.reading.join().unwrap();
    }

    #[track_caller]
    pub fn reply(self) -> HttpReply {
        self.reading.join().unwrap();
        HttpReply::parse(&self.seen.lock().unwrap())
    }
}

const UNIX: &str = "unix:";

/// A stream of either kind is read and written by the same system calls, so one type does for both.
fn connect(address: &str) -> std::io::Result<TcpStream> {
    match address.strip_prefix(UNIX) {
        Some(path) => UnixStream::connect(path).map(|stream| TcpStream::from(OwnedFd::from(stream))),
        None => TcpStream::connect(address),
    }
}

#[derive(Debug)]
pub struct HttpReply {
    pub status: u16,
    headers: Vec<(String, String)>,
    pub body: String,
}

impl HttpReply {
    #[track_caller]
    fn parse(bytes: &[u8]) -> Self {
        let mut input = BufReader::new(bytes);
        let mut line = String::new();
        input.read_line(&mut line).unwrap();
        let status = line.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.unwrap_or_else(|| panic!("not an HTTP answer: {}", String::from_utf8_lossy(bytes)));
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            input.read_line(&mut line).unwrap();
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            headers.push((name.to_ascii_lowercase(), value.to_owned()));
        }
        let mut body = Vec::new();
        if headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked") {
            while let Some(mut chunk) = next_chunk(&mut input) {
                body.append(&mut chunk);
            }
        } else {
            input.read_to_end(&mut body).unwrap();
        }
        Self { status, headers, body: String::from_utf8_lossy(&body).into_owned() }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("not JSON: {self:?}"))
    }

    /// All messages, whether the body is one JSON answer or a stream of events.
    pub fn messages(&self) -> Vec<Value> {
        if self.header("content-type") == Some("application/json") {
            return vec![self.json()];
        }
        self.body.lines().filter_map(|line| serde_json::from_str(line.strip_prefix("data:")?).ok()).collect()
    }

    /// The only answer, a result or an error.
    #[track_caller]
    pub fn answer(&self) -> Value {
        let answers = self.messages().into_iter().filter(|message| message.get("method").is_none()).collect::<Vec<_>>();
        assert_eq!(answers.len(), 1, "one answer: {self:?}");
        answers[0].clone()
    }

    #[track_caller]
    pub fn tool(&self) -> Reply {
        let answer = self.answer();
        assert!(answer.get("error").is_none(), "protocol error: {answer}");
        Reply { raw: answer["result"].clone() }
    }
}

fn next_chunk(input: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut line = String::new();
    input.read_line(&mut line).ok()?;
    let length = usize::from_str_radix(line.trim_end(), 16).ok().filter(|length| *length > 0)?;
    let mut chunk = vec![0; length + 2];
    input.read_exact(&mut chunk).ok()?;
    chunk.truncate(length);
    Some(chunk)
}
