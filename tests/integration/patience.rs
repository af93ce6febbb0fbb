//! Clients that give up early, that close while a call runs, or that speak an older version of the protocol.

use serde_json::{Value, json};

use crate::support::{HttpServer, StartOptions, World, until};

#[test]
fn a_silent_call_is_answered_in_time_and_its_command_goes_on() {
    let world = World::new();
    let mut server = world.server(&["--answer-within", "1"]);
    let text = server.bash("echo begun; until [ -e go ]; do sleep 0.01; done; echo went on").ok();
    assert!(text.starts_with("Command still running after 1000ms\n\ntask_id: t1\n"), "{text}");
    assert!(text.contains("begun"), "{text}");
    world.file("go", "");
    let text = server.call("task_output", json!({"task_id": "t1", "wait_ms": 60000})).ok();
    assert!(text.contains("exit_code: 0") && text.contains("went on"), "{text}");
}

#[test]
fn a_command_that_goes_on_has_the_time_it_had() {
    let world = World::new();
    let mut server = world.server(&["--answer-within", "1", "--timeout", "2"]);
    let text = server.bash("sleep 1000").ok();
    assert!(text.starts_with("Command still running after 1000ms"), "{text}");
    let text = server.call("task_output", json!({"task_id": "t1", "wait_ms": 60000})).ok();
    assert!(text.contains("exit_code: 143"), "{text}");
}

#[test]
fn a_call_with_a_timeout_or_with_progress_is_kept_to() {
    let world = World::new();
    let mut server = world.server(&["--answer-within", "1", "--timeout", "2"]);
    let text = server.call("bash", json!({"command": "sleep 1000", "timeout": 1500})).ok();
    assert!(text.starts_with("Command timed out after 1500ms"), "{text}");
    let text = server.start_with_progress("bash", json!({"command": "sleep 1000"}), "p").reply().ok();
    assert!(text.starts_with("Command timed out after 2000ms"), "{text}");
    let mut server = world.server(&["--answer-within", "0", "--timeout", "2"]);
    let text = server.bash("sleep 1000").ok();
    assert!(text.starts_with("Command timed out after 2000ms"), "{text}");
}

#[test]
fn where_no_task_has_room_the_answer_comes_late_and_the_command_is_not_ended_early() {
    let world = World::new();
    let mut server = world.server(&["--answer-within", "1", "--timeout", "60"]);
    for _ in 0..10 {
        server.call("bash", json!({"command": "sleep 1000", "run_in_background": true})).ok();
    }
    let text = server.bash("sleep 1.5; echo whole").ok();
    assert!(text.starts_with("exit_code: 0\n") && text.contains("whole"), "{text}");
}

#[test]
fn after_the_end_of_input_no_call_is_answered() {
    let world = World::new();
    let mut server = world.server(&[]);
    let pending = server.start("bash", json!({"command": "echo > begun; sleep 1000"}));
    until("it to begin", || world.project().join("begun").exists().then_some(()));
    server.hang_up();
    assert!(server.wait_for_exit().success());
    assert_eq!(pending.answered(), None);
}

#[test]
fn progress_repeats_the_last_line_in_silence() {
    let world = World::new();
    let mut server = world.server(&[]);
    let command = "echo compiling; until [ -e go ]; do sleep 0.01; done";
    let pending = server.start_with_progress("bash", json!({ "command": command }), "p");
    let messages = |server: &crate::support::Client| -> Vec<String> {
        let notes = server.notifications("notifications/progress");
        notes.iter().map(|note| note["message"].as_str().unwrap().to_owned()).collect()
    };
    until("a heartbeat", || messages(&server).contains(&"compiling (5 s)".to_owned()).then_some(()));
    world.file("go", "");
    pending.reply().ok();
    assert_eq!(messages(&server)[0], "compiling");
}

#[test]
fn only_new_clients_get_an_empty_first_event() {
    let world = World::new();
    let server = HttpServer::with_token(&world);
    for (version, has_empty) in [("2025-03-26", false), ("2025-06-18", false), ("2025-11-25", true)] {
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}});
        let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": {"name": "bash", "arguments": {"command": "echo here"}}});
        let mut headers = vec![
            ("authorization", "Bearer tok".to_owned()),
            ("accept", "application/json, text/event-stream".to_owned()),
            ("content-type", "application/json".to_owned()),
        ];
        let mut send = |method: &str, message: &Value| {
            let given: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
            let reply = server.request(method, "/mcp", &given, message.to_string().as_bytes());
            if let Some(session) = reply.header("mcp-session-id") {
                headers.push(("mcp-session-id", session.to_owned()));
                headers.push(("mcp-protocol-version", version.to_owned()));
            }
            reply.body
        };
        for message in [&hello, &call] {
            let body = send("POST", message);
            let datas: Vec<&str> = body.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim).collect();
            assert_eq!(datas.contains(&""), has_empty, "{version}: {body}");
            assert!(datas.iter().any(|data| data.contains("result")), "{version}: {body}");
        }
    }
}

#[test]
fn a_client_that_listens_gets_no_event_with_the_id_of_its_first_message() {
    let world = World::new();
    let server = HttpServer::with_token(&world);
    let capabilities = json!({"roots": {"listChanged": true}});
    let client = server.client_with("tok", &capabilities);
    let listening = client.listen();
    client.notify("notifications/roots/list_changed", json!({}));
    let seen = until("a request", || Some(listening.so_far()).filter(|seen| seen.contains("roots/list")));
    let ids: Vec<&str> = seen.lines().filter_map(|line| line.strip_prefix("id:")).map(str::trim).collect();
    let mut unique = ids.clone();
    unique.dedup();
    assert_eq!(ids, unique, "{seen}");
    assert!(!seen.lines().any(|line| line.trim() == "data:"), "{seen}");
}

#[test]
fn tools_with_long_results_say_so() {
    let world = World::new();
    let mut server = crate::support::Client::connect(world.command(&["--toolset", "all"]), StartOptions::default());
    let tools = server.request("tools/list", json!({}))["tools"].clone();
    let limit = |name: &str| {
        let tool = tools.as_array().unwrap().iter().find(|tool| tool["name"] == name).unwrap();
        tool["_meta"]["anthropic/maxResultSizeChars"].clone()
    };
    for name in ["bash", "task_output", "view", "grep", "execute_command", "run_shell_command"] {
        assert_eq!(limit(name), json!(200_000), "{name}");
    }
    assert_eq!(limit("create_file"), Value::Null);
}

/// A client with tool search would hide them from the model at first.
#[test]
fn tools_say_that_they_are_always_needed() {
    let world = World::new();
    let tools = world.server(&["--toolset", "all"]).request("tools/list", json!({}))["tools"].clone();
    for tool in tools.as_array().unwrap() {
        assert_eq!(tool["_meta"]["anthropic/alwaysLoad"], json!(true), "{}", tool["name"]);
    }
}

#[test]
fn a_message_may_be_twice_as_long_as_the_largest_file() {
    let world = World::new();
    let mut server = world.server(&["--max-file-size", "20MB"]);
    // Each quote takes two bytes in JSON.
    let text = "\"".repeat(18 << 20);
    server.call("create_file", json!({"path": "large", "content": text})).ok();
    assert_eq!(std::fs::metadata(world.project().join("large")).unwrap().len(), 18 << 20);
}
