use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use super::{Reply, until};

/// How long a test waits for an answer before it fails.
const PATIENCE: Duration = Duration::from_mins(5);

/// What a client says about itself, and how it answers the server.
#[derive(Clone)]
pub struct StartOptions {
    /// The lifecycle of 2026-07-28: no `initialize`, metadata with every request.
    pub modern: bool,
    /// The protocol version that `initialize` asks for.
    pub version: &'static str,
    pub capabilities: Value,
    /// Answers the server's requests.
    pub answers: Answers,
}

/// Gets the method and parameters of a request from the server. `None` leaves the request without an answer.
pub type Answers = Arc<dyn Fn(&str, &Value) -> Option<Value> + Send + Sync>;

impl Default for StartOptions {
    fn default() -> Self {
        Self { modern: false, version: "2025-11-25", capabilities: json!({}), answers: Arc::new(|_, _| None) }
    }
}

/// Who waits for which answer. `None` once the server says nothing more.
type Waiting = Mutex<Option<HashMap<u64, Sender<Value>>>>;

/// A client that writes and reads plain JSON. It shares no code with the server, so a bug there cannot hide here.
pub struct Client {
    child: Child,
    input: Arc<Mutex<Option<ChildStdin>>>,
    waiting: Arc<Waiting>,
    notifications: Arc<Mutex<Vec<Value>>>,
    log: Arc<Mutex<String>>,
    options: StartOptions,
    next_id: u64,
    /// The answer to `initialize` or `server/discover`.
    pub hello: Value,
}

/// A request that has been sent; its answer may still come.
pub struct Pending {
    pub id: u64,
    answer: Receiver<Value>,
}

impl Client {
    #[track_caller]
    pub fn connect(command: Command, options: StartOptions) -> Self {
        let mut client = Self::start_server(command, options);
        let hello = client.greet().result();
        client.greeted(hello);
        client
    }

    /// `None` if the server ends before it answers, because it lacks something that it cannot start without.
    pub fn connect_if_it_starts(command: Command) -> Option<Self> {
        let mut client = Self::start_server(command, StartOptions::default());
        let answer = client.greet().answer.recv().ok()?;
        client.greeted(answer["result"].clone());
        Some(client)
    }

    fn start_server(mut command: Command, options: StartOptions) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let input = Arc::new(Mutex::new(child.stdin.take()));
        let waiting = Arc::new(Mutex::new(Some(HashMap::new())));
        let notifications = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::new(Mutex::new(String::new()));
        let output = BufReader::new(child.stdout.take().unwrap());
        let (route, noted, asked, answers) =
            (waiting.clone(), notifications.clone(), input.clone(), options.answers.clone());
        std::thread::spawn(move || read(output, &route, &noted, &asked, &answers));
        let (mut errors, kept) = (child.stderr.take().unwrap(), log.clone());
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = errors.read(&mut buffer) {
                kept.lock().unwrap().push_str(&String::from_utf8_lossy(&buffer[..count]));
            }
        });
        Self { child, input, waiting, notifications, log, options, next_id: 0, hello: Value::Null }
    }

    fn greet(&mut self) -> Pending {
        if self.options.modern {
            return self.send_request("server/discover", json!({}));
        }
        self.send_request(
            "initialize",
            json!({
                "protocolVersion": self.options.version,
                "capabilities": self.options.capabilities,
                "clientInfo": {"name": "test", "version": "1"},
            }),
        )
    }

    fn greeted(&mut self, hello: Value) {
        self.hello = hello;
        if !self.options.modern {
            self.notify("notifications/initialized", json!({}));
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The server's log up to now.
    pub fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: Value) -> Reply {
        self.start(tool, arguments).reply()
    }

    #[track_caller]
    pub fn bash(&mut self, command: &str) -> Reply {
        self.call("bash", json!({ "command": command }))
    }

    /// Sends a tool call without waiting for its answer.
    pub fn start(&mut self, tool: &str, arguments: Value) -> Pending {
        self.send_request("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    pub fn start_with_progress(&mut self, tool: &str, arguments: Value, token: &str) -> Pending {
        let params = json!({ "name": tool, "arguments": arguments, "_meta": { "progressToken": token } });
        self.send_request("tools/call", params)
    }

    /// The result of a request; a protocol error fails the test.
    #[track_caller]
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        self.send_request(method, params).result()
    }

    pub fn send_request(&mut self, method: &str, mut params: Value) -> Pending {
        self.next_id += 1;
        let id = self.next_id;
        if self.options.modern {
            let meta = &mut params["_meta"];
            meta["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
            meta["io.modelcontextprotocol/clientCapabilities"] = self.options.capabilities.clone();
            meta["io.modelcontextprotocol/clientInfo"] = json!({"name": "test", "version": "1"});
        }
        let (sender, answer) = channel();
        self.waiting.lock().unwrap().as_mut().map(|waiting| waiting.insert(id, sender));
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        Pending { id, answer }
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    pub fn cancel(&mut self, pending: &Pending) {
        self.notify("notifications/cancelled", json!({ "requestId": pending.id }));
    }

    /// The parameters of all notifications of this method up to now, oldest first.
    pub fn notifications(&self, method: &str) -> Vec<Value> {
        let all = self.notifications.lock().unwrap();
        all.iter().filter(|note| note["method"] == method).map(|note| note["params"].clone()).collect()
    }

    pub fn send(&mut self, message: &Value) {
        if let Some(input) = self.input.lock().unwrap().as_mut() {
            let _ = input.write_all(format!("{message}\n").as_bytes());
        }
    }

    /// Closes the server's stdin, as a client that goes away does.
    pub fn hang_up(&mut self) {
        self.input.lock().unwrap().take();
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    #[track_caller]
    pub fn wait_for_exit(&mut self) -> ExitStatus {
        until("the server to end", || self.child.try_wait().unwrap())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Pending {
    #[track_caller]
    pub fn reply(self) -> Reply {
        Reply { raw: self.result() }
    }

    #[track_caller]
    pub fn result(self) -> Value {
        let answer = self.answer();
        assert!(answer.get("error").is_none(), "protocol error: {answer}");
        answer["result"].clone()
    }

    /// The whole message, result or error.
    #[track_caller]
    pub fn answer(self) -> Value {
        self.answer.recv_timeout(PATIENCE).expect("an answer in time")
    }

    /// The whole message if it has come already. The answer can be taken once.
    pub fn answered(&self) -> Option<Value> {
        self.answer.try_recv().ok()
    }
}

fn read(
    output: impl BufRead,
    waiting: &Waiting,
    notifications: &Mutex<Vec<Value>>,
    input: &Mutex<Option<ChildStdin>>,
    answers: &Answers,
) {
    for line in output.lines().map_while(Result::ok) {
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("not JSON on stdout: {line}"));
        match (message.get("method").and_then(Value::as_str), message.get("id")) {
            (Some(method), Some(id)) => {
                if let Some(result) = answers(method, &message["params"])
                    && let Some(input) = input.lock().unwrap().as_mut()
                {
                    let answer = json!({"jsonrpc": "2.0", "id": id, "result": result});
                    let _ = input.write_all(format!("{answer}\n").as_bytes());
                }
            }
            (Some(_), None) => notifications.lock().unwrap().push(message),
            (None, Some(id)) => {
                let sender = id.as_u64().and_then(|id| waiting.lock().unwrap().as_mut()?.remove(&id));
                if let Some(sender) = sender {
                    let _ = sender.send(message);
                }
            }
            (None, None) => {}
        }
    }
    // A dropped sender ends the wait of its request at once: no answer will come, also to one that is sent after this.
    waiting.lock().unwrap().take();
}
