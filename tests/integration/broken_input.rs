//! Broken messages on stdio: the client waits for a response to each request, so each one gets a response.

use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, Stdio};

use serde_json::{Value, json};

use crate::support::{World, until};

/// A server on stdio, and a client that sends raw bytes.
struct Raw {
    child: std::process::Child,
    input: Option<ChildStdin>,
    output: BufReader<std::process::ChildStdout>,
}

impl Raw {
    fn new(world: &World) -> Self {
        let mut child =
            world.command(&[]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        Self { input: child.stdin.take(), output: BufReader::new(child.stdout.take().unwrap()), child }
    }

    fn greeted(world: &World) -> Self {
        let mut raw = Self::new(world);
        let hello =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        raw.send(json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": hello}).to_string());
        assert_eq!(raw.answer()["id"], "hello");
        raw.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        raw
    }

    fn send(&mut self, line: impl AsRef<[u8]>) {
        let input = self.input.as_mut().unwrap();
        input.write_all(line.as_ref()).unwrap();
        input.write_all(b"\n").unwrap();
    }

    fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("an answer, not {line:?}"))
    }

    /// The error response to a line: its code and its id.
    fn error(&mut self, line: impl AsRef<[u8]>) -> (i64, Value) {
        self.send(line);
        let answer = self.answer();
        (answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("{answer}")), answer["id"].clone())
    }

    #[track_caller]
    fn still_works(&mut self) {
        self.send(call(json!("still"), "echo here"));
        let answer = self.answer();
        assert_eq!(answer["id"], "still");
        assert_eq!(answer["result"]["content"][0]["text"], "exit_code: 0\n\nstdout:\nhere\n");
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn call(id: Value, command: &str) -> String {
    let params = json!({"name": "bash", "arguments": {"command": command}});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
}

#[test]
fn a_line_over_the_limit_gets_a_response_wherever_its_id_is() {
    let world = World::new();
    let mut server = Raw::greeted(&world);
    let long = "x".repeat(21 << 20);
    let first = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"bash","a":"{long}"}}}}"#);
    let last = format!(r#"{{"method":"tools/call","params":{{"id":7,"a":"{long}"}},"jsonrpc":"2.0","id":"end"}}"#);
    assert_eq!(server.error(first), (-32600, json!(1)));
    assert_eq!(server.error(last), (-32600, json!("end")));
    server.still_works();
}

#[test]
fn a_line_that_is_not_json_gets_a_response() {
    let world = World::new();
    let mut server = Raw::greeted(&world);
    let deep = "[".repeat(50_000) + &"]".repeat(50_000);
    let deep = format!(r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{deep}}}"#);
    assert_eq!(server.error("hello"), (-32700, Value::Null));
    assert_eq!(server.error(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list""#), (-32700, json!(1)));
    assert_eq!(server.error(deep), (-32700, json!(2)));
    assert_eq!(server.error(b"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"\xff\xfe\"}"), (-32700, json!(3)));
    assert_eq!(server.error(b"\0\0\0\xff"), (-32700, Value::Null));
    server.still_works();
}

#[test]
fn json_that_is_no_message_gets_a_response() {
    let world = World::new();
    let mut server = Raw::greeted(&world);
    for (line, code, id) in [
        ("[]", -32600, Value::Null),
        ("42", -32600, Value::Null),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600, Value::Null),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32600, json!(1)),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600, Value::Null),
        (r#"{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}"#, -32600, Value::Null),
        (r#"{"jsonrpc":"2.0","id":2,"method":"no/such"}"#, -32601, json!(2)),
        (r#"{"jsonrpc":"2.0","id":3,"method":"prompts/list"}"#, -32601, json!(3)),
        (r#"{"jsonrpc":"2.0","id":4,"method":"completion/complete","params":{}}"#, -32601, json!(4)),
        (r#"{"jsonrpc":"2.0","id":8,"method":"resources/read","params":{"url":"x"}}"#, -32602, json!(8)),
        (r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"nome":"bash"}}"#, -32602, json!(5)),
        (r#"{"jsonrpc":"2.0","id":6,"method":"tools/call","params":[1]}"#, -32600, json!(6)),
        (r#"{"jsonrpc":"2.0","id":7,"method":"tools/call"}"#, -32602, json!(7)),
    ] {
        assert_eq!(server.error(line), (code, id), "{line}");
    }
    server.still_works();
}

#[test]
fn notifications_and_responses_get_no_response() {
    let world = World::new();
    let mut server = Raw::greeted(&world);
    for line in [
        "",
        "   ",
        r#"{"jsonrpc":"2.0","method":"notifications/no-such"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":7}"#,
        r#"{"jsonrpc":"2.0","id":99,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":99,"error":7}"#,
    ] {
        server.send(line);
    }
    server.still_works();
}

#[test]
fn a_request_before_initialize_gets_a_response_and_the_server_keeps_serving() {
    let world = World::new();
    let mut server = Raw::new(&world);
    server.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    server.send(r#"{"jsonrpc":"2.0","id":5,"result":{}}"#);
    assert_eq!(server.error(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#), (-32602, json!(1)));
    assert_eq!(server.error(call(json!(2), "touch mark")), (-32602, json!(2)));
    assert_eq!(server.error(r#"{"jsonrpc":"2.0","id":3,"method":"initialize","params":{}}"#).1, json!(3));
    assert!(!world.project().join("mark").exists());
    let hello =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    server.send(json!({"jsonrpc": "2.0", "id": 4, "method": "initialize", "params": hello}).to_string());
    assert_eq!(server.answer()["result"]["protocolVersion"], "2025-11-25");
    server.still_works();
}

#[test]
fn an_id_that_is_taken_is_refused_and_the_first_request_keeps_it() {
    let world = World::new();
    let mut server = Raw::greeted(&world);
    server.send(call(json!(1), "until [ -e go ]; do sleep 0.01; done; echo first"));
    assert_eq!(server.error(call(json!(1), "touch mark")), (-32600, json!(1)));
    world.file("go", "");
    let answer = server.answer();
    assert_eq!(
        (&answer["id"], &answer["result"]["content"][0]["text"]),
        (&json!(1), &json!("exit_code: 0\n\nstdout:\nfirst\n"))
    );
    assert!(!world.project().join("mark").exists());
    server.still_works();
}

#[test]
fn a_message_may_come_in_pieces_with_a_mark_and_windows_line_ends() {
    let world = World::new();
    let mut server = Raw::greeted(&world);
    let message = format!("\u{feff}{}\r\n", call(json!(8), "echo whole"));
    for piece in message.as_bytes().chunks(7) {
        let input = server.input.as_mut().unwrap();
        input.write_all(piece).unwrap();
        // When the pipe is empty, the server has read this piece alone.
        until("the piece to be read", || (rustix::io::ioctl_fionread(&*input).unwrap() == 0).then_some(()));
    }
    assert_eq!(server.answer()["result"]["content"][0]["text"], "exit_code: 0\n\nstdout:\nwhole\n");
}

#[test]
fn a_request_before_the_end_of_the_input_gets_a_response() {
    let world = World::new();
    let mut server = Raw::greeted(&world);
    server.send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    server.input = None;
    assert_eq!(server.answer()["id"], 1);
    assert!(until("the end", || server.child.try_wait().unwrap()).success());
}
