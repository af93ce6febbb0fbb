//! A client on stdin and stdout of a gateway.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::world::{GATEWAY, World, until};

pub struct StdioClient {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl StdioClient {
    pub fn start(world: &World, arguments: &[&str], change: impl FnOnce(&mut Command)) -> Self {
        let mut command = world.command(Path::new(GATEWAY));
        command.args(arguments);
        change(&mut command);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output }
    }

    pub fn send(&mut self, message: &Value) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{message}").unwrap();
        input.flush().unwrap();
    }

    /// Messages up to one that is wanted.
    pub fn read_until(&mut self, is_wanted: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut all = Vec::new();
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "the gateway hung up after {all:?}");
            all.push(serde_json::from_str(&line).unwrap());
            if is_wanted(&all[all.len() - 1]) {
                return all;
            }
        }
    }

    pub fn ask(&mut self, id: u64, method: &str, params: Value) -> Value {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        self.read_until(|message| message["id"] == id && message.get("method").is_none()).pop().unwrap()
    }

    pub fn initialize(&mut self, capabilities: Value) -> Value {
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": {"name": "t", "version": "1"}});
        let answer = self.ask(0, "initialize", hello);
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        answer
    }

    /// The client goes, and the gateway has to end well.
    pub fn end(&mut self) {
        drop(self.input.take());
        assert!(until("the gateway to end", || self.child.try_wait().unwrap()).success());
    }

    /// What a gateway says that cannot start.
    pub fn fails(&mut self) -> String {
        assert!(!until("the gateway to end", || self.child.try_wait().unwrap()).success());
        let mut text = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        text
    }
}

impl Drop for StdioClient {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
