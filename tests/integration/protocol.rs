//! The protocol on stdio: both lifecycles, schemas, progress, instructions, and only messages on stdout.

use std::io::{BufRead, BufReader, Write};

use serde_json::{Value, json};

use crate::support::{Client, StartOptions, World, text, until};

fn both() -> [StartOptions; 2] {
    [StartOptions::default(), StartOptions { modern: true, ..StartOptions::default() }]
}

#[test]
fn both_lifecycles_list_and_call_tools() {
    for options in both() {
        let world = World::new();
        let mut server = world.server_with(&[], options.clone());
        assert_eq!(server.bash("echo hello").ok(), "exit_code: 0\n\nstdout:\nhello\n");
        server.bash("cd /; export V=1").ok();
        assert_eq!(server.bash("echo $PWD $V").stdout(), "/ 1\n", "state persists, modern: {}", options.modern);
        assert!(server.hello["instructions"].as_str().unwrap().contains(&text(&world.project())));
    }
}

#[test]
fn every_legacy_version_is_served() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let world = World::new();
        let mut server = world.server(&[]);
        let hello = server.hello["protocolVersion"].as_str().unwrap().to_owned();
        assert_eq!(hello, "2025-11-25");
        // A second client, which asks for that version.
        let mut raw = world.command(&[]);
        let mut child = raw.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped()).spawn().unwrap();
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
        writeln!(child.stdin.as_mut().unwrap(), "{message}").unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["result"]["protocolVersion"], version);
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success());
        server.bash("true").ok();
    }
}

#[test]
fn instructions_fit_every_client() {
    let world = World::new();
    let server = world.server(&[]);
    let instructions = server.hello["instructions"].as_str().unwrap().to_owned();
    assert!(instructions.len() < 2048);
    for part in ["Project directory: ", "Scope", "Sandbox: "] {
        assert!(instructions.contains(part), "{part} is missing in {instructions}");
    }
}

#[test]
fn schemas_are_plain_and_the_list_is_identical_at_every_start() {
    let world = World::new();
    let list = |server: &mut Client| server.request("tools/list", json!({}))["tools"].clone();
    let first = list(&mut world.server(&["--toolset", "all"]));
    assert_eq!(first.to_string(), list(&mut world.server(&["--toolset", "all"])).to_string());
    for tool in first.as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        assert!(tool["description"].as_str().unwrap().len() < 2048, "{name}");
        for hint in ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] {
            assert!(tool["annotations"][hint].is_boolean(), "{name} {hint}");
        }
        let schema = &tool["inputSchema"];
        assert_eq!(schema["type"], "object", "{name}");
        assert_eq!(schema["additionalProperties"], false, "{name}");
        assert_plain(name, schema);
    }
}

fn assert_plain(tool: &str, schema: &Value) {
    if let Value::Object(map) = schema {
        for key in ["$schema", "$ref", "format", "anyOf", "oneOf", "title"] {
            assert!(!map.contains_key(key) || map[key].is_object(), "{tool}: {key} in {schema}");
        }
        assert!(!map.get("type").is_some_and(Value::is_array), "{tool}: type union in {schema}");
    }
    match schema {
        Value::Object(map) => map.values().for_each(|value| assert_plain(tool, value)),
        Value::Array(items) => items.iter().for_each(|value| assert_plain(tool, value)),
        _ => {}
    }
}

#[test]
fn the_standard_list_is_small() {
    let world = World::new();
    let list = world.server(&[]).request("tools/list", json!({}));
    // Common tokenizers make about one token of four characters of such text.
    let tokens = list.to_string().len() / 4;
    assert!(tokens <= 2500, "{tokens} tokens");
}

#[test]
fn hidden_and_unknown_tools_cannot_be_called() {
    let world = World::new();
    let mut server = world.server(&["--disable-tools", "bash"]);
    for tool in ["bash", "nonsense"] {
        let answer = server.start(tool, json!({"command": "touch mark"})).answer();
        assert!(answer["error"]["message"].as_str().unwrap().contains(&format!("unknown tool \"{tool}\"")), "{answer}");
    }
    assert!(!world.project().join("mark").exists());
}

#[test]
fn every_line_is_a_progress_notification() {
    for options in both() {
        let world = World::new();
        let mut server = world.server_with(&[], options);
        let command = "for i in 1 2 3; do echo line $i; until [ -e go$i ]; do sleep 0.01; done; done";
        let pending = server.start_with_progress("bash", json!({"command": command}), "token");
        for line in 1..=3 {
            let seen = until("its notification", || {
                let notes = server.notifications("notifications/progress");
                notes.into_iter().find(|note| note["message"] == format!("line {line}"))
            });
            assert_eq!((&seen["progressToken"], &seen["progress"]), (&json!("token"), &json!(f64::from(line))));
            world.file(&format!("go{line}"), "");
        }
        pending.reply().ok();
    }
}

#[test]
fn a_flood_of_lines_is_coalesced() {
    let world = World::new();
    let mut server = world.server(&[]);
    let command = "seq 1 100000; until [ -e go ]; do sleep 0.01; done";
    let pending = server.start_with_progress("bash", json!({ "command": command }), "t");
    let notes = until("every line", || {
        let notes = server.notifications("notifications/progress");
        notes.last().is_some_and(|note| note["progress"] == 100_000.0).then_some(notes)
    });
    world.file("go", "");
    pending.reply().ok();
    assert!(notes.len() < 1000, "{}", notes.len());
    assert!(notes.iter().all(|note| note["message"].as_str().unwrap().len() <= 4096));
    let rising = |pair: &[Value]| pair[0]["progress"].as_f64() < pair[1]["progress"].as_f64();
    assert!(notes.windows(2).all(rising));
}

#[test]
fn without_a_token_no_progress_is_sent() {
    let world = World::new();
    let mut server = world.server(&[]);
    server.bash("echo one; echo two").ok();
    assert!(server.notifications("notifications/progress").is_empty());
}

#[test]
fn a_silent_command_sends_heartbeats() {
    let world = World::new();
    let mut server = world.server(&[]);
    let pending = server.start_with_progress(
        "bash",
        json!({"command": "until [ -e go ]; do sleep 0.05; done"}),
        7.to_string().as_str(),
    );
    let beat = until("a heartbeat", || server.notifications("notifications/progress").into_iter().next());
    assert!(beat["progress"].as_f64().unwrap() > 0.0 && beat["progress"].as_f64().unwrap() < 1.0, "{beat}");
    world.file("go", "");
    pending.reply().ok();
}

#[test]
fn logs_go_to_stderr_in_the_chosen_format() {
    let world = World::new();
    let mut server = world.server(&["--log-level", "debug", "--log-format", "json"]);
    server.bash("echo x; echo y >&2").ok();
    let log = until("the log of the call", || Some(server.log()).filter(|log| log.contains("\"answer\"")));
    assert!(log.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{log}");
}

/// Node connects its child processes this way.
#[test]
fn stdio_may_be_a_socket() {
    use std::io::{BufRead, BufReader, Write};
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    let world = World::new();
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let mut command = world.command(&[]);
    command.stdin(OwnedFd::from(theirs.try_clone().unwrap())).stdout(OwnedFd::from(theirs));
    let mut server = command.spawn().unwrap();
    drop(command);
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25",
        "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}});
    writeln!(ours, "{hello}").unwrap();
    let mut answer = String::new();
    BufReader::new(ours.try_clone().unwrap()).read_line(&mut answer).unwrap();
    assert!(answer.contains("\"protocolVersion\":\"2025-11-25\""), "{answer}");
    ours.shutdown(std::net::Shutdown::Both).unwrap();
    assert!(server.wait().unwrap().success());
}
