//! What the server asks its clients over HTTP, in the lifecycle in which it asks by itself: roots, and whether a command
//! may run.

use serde_json::json;

use crate::support::{Exchange, HttpServer, World, text, until};

/// The request of that number, on whichever stream it comes.
fn asked(streams: &[&Exchange], method: &str, number: usize) -> serde_json::Value {
    until(&format!("{method} number {number}"), || {
        streams.iter().flat_map(|stream| stream.requests(method)).nth(number - 1)
    })
}

#[test]
fn roots_are_asked_for_and_a_call_right_after_a_change_waits_for_the_new_ones() {
    let world = World::new();
    let server = HttpServer::start(&world, &["--token", "tok", "--allow-dir", &text(&world.outside())]);
    let mut client = server.client_with("tok", &json!({"roots": {"listChanged": true}}));
    let stream = client.listen();
    for number in 1..=10 {
        if number > 1 {
            client.notify("notifications/roots/list_changed", json!({}));
        }
        let root = world.outside().join(number.to_string());
        std::fs::create_dir(&root).unwrap();
        let pending = client.start("bash", json!({"command": "pwd"}));
        let question = asked(&[&stream], "roots/list", number);
        client.respond(&question, &json!({"roots": [{"uri": format!("file://{}", text(&root))}]}));
        assert_eq!(pending.reply().tool().stdout().lines().next(), Some(text(&root).as_str()));
    }
}

#[test]
fn roots_choose_within_what_the_operator_named_and_never_widen_it() {
    let world = World::new();
    let inside = world.project().join("part");
    std::fs::create_dir(&inside).unwrap();
    let server = HttpServer::with_token(&world);
    let mut client = server.client_with("tok", &json!({"roots": {"listChanged": true}}));
    let stream = client.listen();
    for (number, root, project) in [
        (1, "/".into(), world.project()),
        (2, world.outside(), world.project()),
        (3, world.home(), world.project()),
        (4, inside.clone(), inside),
    ] {
        if number > 1 {
            client.notify("notifications/roots/list_changed", json!({}));
        }
        let pending = client.start("bash", json!({"command": "pwd"}));
        let question = asked(&[&stream], "roots/list", number);
        client.respond(&question, &json!({"roots": [{"uri": format!("file://{}", text(&root))}]}));
        assert_eq!(pending.reply().tool().stdout().lines().next(), Some(text(&project).as_str()), "{root:?}");
        for place in [world.outside(), world.home()] {
            let path = text(&place.join("planted"));
            let error = client.call("create_file", json!({"path": path, "content": "x"})).err();
            assert!(error.contains("is outside allowed directories"), "{error}");
            // What a command writes into the home goes to a layer of its own.
            client.bash(&format!("echo x > {path}")).ok();
            assert!(!place.join("planted").exists(), "{place:?}");
        }
    }
    until("the log", || server.log().contains("roots only choose within").then_some(()));
    let hello = client.begin(
        "initialize",
        json!({
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
        }),
    );
    let hello = hello.reply().body;
    assert!(hello.contains(&format!("decided by the client's roots within {}", text(&world.project()))), "{hello}");
}

#[test]
fn the_person_is_asked_and_the_answer_counts() {
    let world = World::new();
    let server = HttpServer::start(&world, &["--token", "tok", "--ask", "touch"]);
    let mut client = server.client_with("tok", &json!({"elicitation": {"form": {}}}));
    let stream = client.listen();
    for (number, action, choice) in [(1, "decline", "once"), (2, "accept", "deny"), (3, "accept", "once")] {
        let pending = client.start("bash", json!({"command": "touch mark"}));
        let question = until("the question", || {
            [&stream, &pending].into_iter().flat_map(|stream| stream.requests("elicitation/create")).next()
        });
        assert!(question["params"]["message"].as_str().unwrap().contains("touch mark"), "{question}");
        assert!(!world.project().join("mark").exists(), "not before the answer");
        client.respond(&question, &json!({"action": action, "content": {"decision": choice}}));
        let reply = pending.reply().tool();
        if number == 3 { drop(reply.ok()) } else { drop(reply.err()) }
    }
    assert!(world.project().join("mark").exists());
}
