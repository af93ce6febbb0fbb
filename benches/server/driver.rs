//! A client of any MCP server over stdio. It has one thread and reads the clock before it parses an answer, so its own
//! work is not part of the measurement.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};

use crate::subject::Subject;

pub struct Connection<'a> {
    subject: &'a Subject,
    directory: PathBuf,
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next_id: u64,
    /// Answers that came while the client waited for another one.
    early: HashMap<u64, Answer>,
}

pub struct Answer {
    at: Instant,
    message: Value,
}

/// How long a server may take to exit after its stdin was closed before it is killed.
const FAREWELL: Duration = Duration::from_secs(2);

impl<'a> Connection<'a> {
    /// Starts the server and initializes the connection step by step, as clients do.
    pub fn open(subject: &'a Subject, scratch: &Path) -> anyhow::Result<Self> {
        let mut child = subject
            .command(scratch)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("failed to start {}", subject.words[0]))?;
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().context("no stdout")?);
        let directory = scratch.to_owned();
        let mut connection = Self { subject, directory, child, input, output, next_id: 0, early: HashMap::new() };
        let hello = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"},
        });
        connection.request("initialize", &hello)?;
        connection.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        if let Some((method, params)) = &subject.first_request {
            connection.request(method, params)?;
        }
        Ok(connection)
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn list_tools(&mut self) -> anyhow::Result<Value> {
        let mut answer = self.request("tools/list", &json!({}))?;
        let tools = answer.message["result"]["tools"].take();
        let tool = &self.subject.tool;
        let mut names = tools.as_array().context("no tools in the answer")?.iter().map(|offered| &offered["name"]);
        ensure!(!self.subject.shell || names.any(|name| name == tool), "the server has no tool {tool}");
        Ok(tools)
    }

    /// Runs shell text. Returns the time from the first byte of the request to the last byte of the answer.
    pub fn call(&mut self, command: &str) -> anyhow::Result<Duration> {
        let (id, sent) = self.send_call(command)?;
        self.wait_call(id, sent)
    }

    /// Calls any tool. Returns the same time as [`Connection::call`].
    pub fn call_tool(&mut self, name: &str, arguments: &Value) -> anyhow::Result<Duration> {
        let (id, sent) = self.send("tools/call", &json!({ "name": name, "arguments": arguments }))?;
        self.wait_call(id, sent)
    }

    /// Runs shell text whose progress is reported. Returns the same time as [`Connection::call`].
    pub fn call_with_progress(&mut self, command: &str) -> anyhow::Result<Duration> {
        let arguments = filled(&self.subject.template, command, &self.directory);
        let params = json!({ "name": self.subject.tool, "arguments": arguments, "_meta": { "progressToken": 1 } });
        let (id, sent) = self.send("tools/call", &params)?;
        self.wait_call(id, sent)
    }

    /// Sends a call without waiting for its answer.
    pub fn send_call(&mut self, command: &str) -> anyhow::Result<(u64, Instant)> {
        let arguments = filled(&self.subject.template, command, &self.directory);
        self.send("tools/call", &json!({ "name": self.subject.tool, "arguments": arguments }))
    }

    /// The result of shell text, whether it is an error or not.
    pub fn result_of(&mut self, command: &str) -> anyhow::Result<Value> {
        let (id, _) = self.send_call(command)?;
        Ok(self.wait(id)?.message["result"].take())
    }

    /// The result of any tool, whether it is an error or not.
    pub fn result_of_tool(&mut self, name: &str, arguments: &Value) -> anyhow::Result<Value> {
        let mut answer = self.request("tools/call", &json!({ "name": name, "arguments": arguments }))?;
        Ok(answer.message["result"].take())
    }

    /// The time until a refusal came.
    pub fn refused(&mut self, name: &str, arguments: &Value) -> anyhow::Result<Duration> {
        let (id, sent) = self.send("tools/call", &json!({ "name": name, "arguments": arguments }))?;
        let answer = self.wait(id)?;
        ensure!(answer.message["result"]["isError"] == json!(true), "the tool did not refuse");
        Ok(answer.at - sent)
    }

    /// Ends the server without a farewell.
    pub fn kill(mut self) {
        let _ = self.child.kill();
    }

    /// Fails if the answer is an error: an error says nothing about the time of a call.
    pub fn wait_call(&mut self, id: u64, sent: Instant) -> anyhow::Result<Duration> {
        let answer = self.wait(id)?;
        ensure!(answer.message["result"]["isError"] != json!(true), "the tool failed: {}", answer.message["result"]);
        Ok(answer.at - sent)
    }

    fn request(&mut self, method: &str, params: &Value) -> anyhow::Result<Answer> {
        let (id, _) = self.send(method, params)?;
        self.wait(id)
    }

    fn send(&mut self, method: &str, params: &Value) -> anyhow::Result<(u64, Instant)> {
        self.next_id += 1;
        let message = json!({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params});
        Ok((self.next_id, self.write(&message)?))
    }

    fn write(&mut self, message: &Value) -> anyhow::Result<Instant> {
        let line = format!("{message}\n");
        let sent = Instant::now();
        self.input.as_mut().context("the connection is closed")?.write_all(line.as_bytes())?;
        Ok(sent)
    }

    fn wait(&mut self, wanted: u64) -> anyhow::Result<Answer> {
        loop {
            if let Some(answer) = self.early.remove(&wanted) {
                ensure!(answer.message.get("error").is_none(), "the server refused: {}", answer.message["error"]);
                return Ok(answer);
            }
            let mut line = String::new();
            if self.output.read_line(&mut line)? == 0 {
                bail!("the server ended");
            }
            let at = Instant::now();
            let message: Value = serde_json::from_str(&line).context("not JSON on the server's stdout")?;
            match (message.get("method"), message["id"].as_u64()) {
                (None, Some(id)) => drop(self.early.insert(id, Answer { at, message })),
                (Some(_), _) => self.decline(&message)?,
                (None, None) => {}
            }
        }
    }

    /// Refuses a request of the server, because this client has no capabilities. Notifications need no answer.
    fn decline(&mut self, message: &Value) -> anyhow::Result<()> {
        if let Some(id) = message.get("id") {
            let error = json!({"code": -32601, "message": "not offered"});
            self.write(&json!({"jsonrpc": "2.0", "id": id, "error": error}))?;
        }
        Ok(())
    }
}

impl Drop for Connection<'_> {
    fn drop(&mut self) {
        self.input.take();
        let asked = Instant::now();
        while asked.elapsed() < FAREWELL {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The template with the shell text in place of `"{command}"`, its words in place of `"{words}"`, and the directory.
fn filled(template: &Value, command: &str, directory: &Path) -> Value {
    match template {
        Value::String(text) if text == "{command}" => command.into(),
        Value::String(text) if text == "{directory}" => directory.display().to_string().into(),
        Value::Array(items) if *items == [json!("{words}")] => command.split_whitespace().collect(),
        Value::Array(items) => items.iter().map(|item| filled(item, command, directory)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), filled(value, command, directory))).collect()
        }
        other => other.clone(),
    }
}
