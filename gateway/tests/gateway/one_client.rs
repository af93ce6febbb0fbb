//! One client on stdin and stdout.

use std::path::Path;

use serde_json::{Value, json};

use crate::stdio_client::StdioClient;
use crate::world::{Program, World, until};

fn start(world: &World, server: &Program) -> StdioClient {
    let place = format!("http://{}/mcp", server.address);
    StdioClient::start(world, &["--place", &place, "--token", "place-token"], |_| {})
}

fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
    })
}

#[test]
fn an_agent_works_through_the_gateway_as_if_it_were_there() {
    let world = World::new();
    let server = world.server("project");
    let mut client = start(&world, &server);
    let welcome = client.initialize(json!({}));
    let instructions = welcome["result"]["instructions"].as_str().unwrap();
    assert!(
        instructions.starts_with("This runs in a place of its own, through testudo-gateway: http://"),
        "{instructions}"
    );
    assert!(instructions.contains("Sandbox: off"), "{instructions}");
    let tools = client.ask(1, "tools/list", json!({}));
    assert!(tools["result"]["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "bash"));
    client.ask(2, "tools/call", json!({"name": "bash", "arguments": {"command": "mkdir -p deep && cd deep"}}));
    let answer = client.ask(3, "tools/call", json!({"name": "bash", "arguments": {"command": "pwd"}}));
    assert!(answer["result"]["content"][0]["text"].as_str().unwrap().contains("project/deep"), "{answer}");
    assert_eq!(answer["result"]["_meta"]["testudo/outcome"], "finished", "every call has an id: {answer}");
    client.end();
}

#[test]
fn a_client_without_sessions_is_served_too() {
    let world = World::new();
    let server = world.server("project");
    let mut client = start(&world, &server);
    let welcome = client.ask(1, "server/discover", json!({"_meta": meta()}));
    assert!(welcome["result"]["instructions"].as_str().unwrap().contains("testudo-gateway"), "{welcome}");
    let call = json!({"name": "bash", "arguments": {"command": "echo $((40+2))"}, "_meta": meta()});
    let answer = client.ask(2, "tools/call", call);
    assert!(answer["result"]["content"][0]["text"].as_str().unwrap().contains("42"), "{answer}");
}

#[test]
fn progress_comes_through_and_a_cancel_ends_the_command() {
    for modern in [false, true] {
        let world = World::new();
        let server = world.server("project");
        let mut client = start(&world, &server);
        if !modern {
            client.initialize(json!({}));
        }
        let command = format!("echo $$ > {}; sleep 300", world.path("pid").display());
        let mut params = json!({"name": "bash", "arguments": {"command": command, "timeout": 300_000}});
        params["_meta"] = if modern { meta() } else { json!({}) };
        params["_meta"]["progressToken"] = json!("p");
        client.send(&json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": params}));
        client.read_until(|message| message["method"] == "notifications/progress");
        let pid = until("the command", || world.read("pid").trim().parse::<u32>().ok());
        let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}});
        client.send(&cancel);
        until("the command to end", || (!Path::new(&format!("/proc/{pid}")).exists()).then_some(()));
    }
}

#[test]
fn a_question_reaches_the_person_and_the_answer_the_place() {
    let world = World::new();
    let mut server_command = world.command(&crate::world::testudo());
    std::fs::create_dir_all(world.path("project")).unwrap();
    server_command.args(["--transport", "http", "--listen", "127.0.0.1:0", "--sandbox", "off", "--ask", "touch"]);
    server_command.args(["--token", "place-token", "--workdir"]).arg(world.path("project"));
    let server = Program::announced(server_command);
    let mut client = start(&world, &server);
    client.initialize(json!({"elicitation": {}}));
    let call = json!({"name": "bash", "arguments": {"command": "touch asked"}});
    client.send(&json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": call}));
    let asked = client.read_until(|message| message["method"] == "elicitation/create").pop().unwrap();
    let choices = &asked["params"]["requestedSchema"]["properties"]["decision"];
    let once = json!({"action": "accept", "content": {"decision": first_choice(choices)}});
    client.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": once}));
    let answer = client.read_until(|message| message["id"] == 7).pop().unwrap();
    assert_ne!(answer["result"]["isError"], true, "{answer}\n{asked}");
    assert!(world.path("project/asked").exists());
}

/// The form lists its choices in one of the two ways that JSON Schema has for that.
fn first_choice(choices: &Value) -> Value {
    choices["enum"].get(0).or_else(|| choices["oneOf"][0].get("const")).cloned().unwrap_or_default()
}

#[test]
fn a_place_that_is_gone_is_named_and_what_was_lost_is_said() {
    let world = World::new();
    let mut server = world.server("project");
    let mut client = start(&world, &server);
    client.initialize(json!({}));
    let command = format!("echo begun > {}; sleep 300", world.path("begun").display());
    let call = json!({"name": "bash", "arguments": {"command": command, "timeout": 300_000}});
    client.send(&json!({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": call}));
    until("the command", || (world.read("begun") == "begun\n").then_some(()));
    server.kill();
    let answer = client.read_until(|message| message["id"] == 9).pop().unwrap();
    assert_eq!(answer["result"]["isError"], true);
    assert_eq!(answer["result"]["_meta"]["testudo/outcome"], "lost", "{answer}");
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains(&server.address) && text.contains("is gone") && text.contains("Lost with it"), "{text}");
    let next = client.ask(10, "tools/call", json!({"name": "bash", "arguments": {"command": "true"}}));
    assert_eq!(next["result"]["isError"], true, "it is not replaced: {next}");
}
