//! Questions and pictures go through the gateway as they are, with several clients too.

use serde_json::{Value, json};

use crate::http_client::Client;
use crate::world::{Program, World, until};

const ID: &str = "5f6e7d8c9b0a1234";

/// A server that asks before `touch`.
fn asking_server(world: &World) -> Program {
    std::fs::create_dir_all(world.path("project")).unwrap();
    let mut command = world.command(&crate::world::testudo());
    command.args(["--transport", "http", "--listen", "127.0.0.1:0", "--sandbox", "off", "--ask", "touch"]);
    command.args(["--token", "place-token", "--workdir"]).arg(world.path("project"));
    Program::announced(command)
}

fn accept(decision: &str) -> Value {
    json!({"action": "accept", "content": {"decision": decision}})
}

#[test]
fn a_client_without_sessions_answers_a_question_with_its_next_call() {
    let world = World::new();
    let server = asking_server(&world);
    let gateway = world.gateway(&[&server], "");
    let mut client = Client::new(&gateway.address, "alice-token");
    client.path = "/mcp/alices".to_owned();
    client.capabilities = json!({"elicitation": {"form": {}}});
    for meta in [json!({}), json!({"testudo/callId": ID})] {
        let _ = std::fs::remove_file(world.path("project/asked"));
        let call = json!({"name": "bash", "arguments": {"command": "touch asked"}, "_meta": meta});
        let asked = client.modern("tools/call", call.clone());
        let asked = asked.message()["result"].clone();
        assert_eq!(asked["resultType"], "input_required", "{asked}");
        assert!(!world.path("project/asked").exists(), "a question runs nothing");
        let mut answered = call;
        answered["requestState"] = asked["requestState"].clone();
        answered["inputResponses"] = json!({"decision": accept("once")});
        let done = client.modern("tools/call", answered).message();
        assert_ne!(done["result"]["isError"], true, "{done}");
        assert!(world.path("project/asked").exists());
    }
}

#[test]
fn a_question_in_a_session_comes_on_the_stream_of_its_call_through_any_gateway() {
    let world = World::new();
    let server = asking_server(&world);
    let gateways = [world.gateway(&[&server], ""), world.gateway(&[&server], "")];
    let mut client = Client::new(&gateways[0].address, "alice-token");
    client.capabilities = json!({"elicitation": {"form": {}}});
    client.start();
    let calling = client.clone();
    let (sender, questions) = std::sync::mpsc::channel();
    let call = std::thread::spawn(move || {
        let params = json!({"name": "bash", "arguments": {"command": "touch asked"}});
        let message = json!({"jsonrpc": "2.0", "id": 50, "method": "tools/call", "params": params});
        calling.post_and_watch(&message, |event| drop(sender.send(event.clone())))
    });
    let question = std::iter::from_fn(|| questions.recv().ok()).find(|one| one["method"] == "elicitation/create");
    let question = question.expect("the question");
    // The answer takes another way than the question came.
    client.address.clone_from(&gateways[1].address);
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": accept("once")});
    assert_eq!(client.post(&answer, &[]).unwrap().status, 202);
    let done = call.join().unwrap();
    assert_ne!(done["result"]["isError"], true, "{done}");
    until("the file", || world.path("project/asked").exists().then_some(()));
}

#[test]
fn a_picture_arrives_whole() {
    let world = World::new();
    let server = world.server("project");
    // One red pixel.
    let picture = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
    let gateway = world.gateway(&[&server], "");
    let mut client = gateway.client("alice-token");
    client.bash(&format!("echo {picture} | base64 -d > dot.png"));
    let params = json!({"name": "view", "arguments": {"path": "dot.png"}});
    let through = client.request("tools/call", params.clone()).message()["result"]["content"].clone();
    let mut direct = server.client("place-token");
    let direct = direct.request("tools/call", params).message()["result"]["content"].clone();
    let image = through.as_array().unwrap().iter().find(|part| part["type"] == "image");
    assert_eq!(image.unwrap()["mimeType"], "image/png", "{through}");
    assert_eq!(through, direct);
}
