//! Calls over HTTP from start to end: progress, questions, lost connections, and shutdown.

use std::io::Write;
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::support::{HttpServer, World, nap, text, until, with_word};

#[test]
fn progress_and_cancel_work_as_on_stdio() {
    let world = World::new();
    let server = HttpServer::with_token(&world);
    for mut client in [server.client("tok"), server.modern_client("tok")] {
        // Each line waits until the one before it has arrived, so that none are sent together.
        let command = "for i in 1 2 3; do echo line $i; until [ -e go$i ]; do sleep 0.01; done; done; rm go*";
        let params = json!({"name": "bash", "arguments": {"command": command}, "_meta": {"progressToken": "t"}});
        let pending = client.begin("tools/call", params);
        for line in 1..=3 {
            until("its progress", || pending.so_far().contains(&format!("line {line}")).then_some(()));
            world.file(&format!("go{line}"), "");
        }
        let reply = pending.reply();
        let notes = reply.messages().into_iter().filter(|message| message["method"] == "notifications/progress");
        let lines: Vec<String> = notes.map(|note| note["params"]["message"].as_str().unwrap().to_owned()).collect();
        assert_eq!(lines, ["line 1", "line 2", "line 3"]);
        assert!(reply.messages().last().unwrap()["result"].is_object(), "nothing comes after the answer");
        reply.tool().ok();
    }
    let client = server.client("tok");
    let word = nap();
    let params = json!({"name": "bash", "arguments": {"command": format!("sleep {word} & sleep {word}")}});
    let pending = client.begin_as(json!("mine"), "tools/call", params);
    until("it to run", || (with_word(&word).len() >= 2).then_some(()));
    client.notify("notifications/cancelled", json!({"requestId": "mine"}));
    until("its end", || with_word(&word).is_empty().then_some(()));
    assert_eq!(pending.reply().messages(), Vec::<Value>::new());
}

#[test]
fn without_protocol_sessions_hanging_up_is_a_cancel() {
    let world = World::new();
    let server = HttpServer::with_token(&world);
    let mut client = server.modern_client("tok");
    let quiet = nap();
    let pending = client.start("bash", json!({"command": format!("sleep {quiet}")}));
    until("it to run", || (!with_word(&quiet).is_empty()).then_some(()));
    pending.hang_up();
    until("its end", || with_word(&quiet).is_empty().then_some(()));

    let talking = nap();
    let command = format!("echo begun; sleep {talking}");
    let params = json!({"name": "bash", "arguments": {"command": command}, "_meta": {"progressToken": 1}});
    let pending = client.begin("tools/call", params);
    until("it to talk", || pending.so_far().contains("begun").then_some(()));
    pending.hang_up();
    until("its end", || with_word(&talking).is_empty().then_some(()));
    client.bash("true").ok();
}

#[test]
fn with_protocol_sessions_the_client_may_reconnect_for_the_response() {
    let world = World::new();
    let server = HttpServer::configured(&world, "reconnect_grace = 1");
    let mut client = server.client("tok");
    let pending = client.start("bash", json!({"command": "until [ -e go ]; do sleep 0.01; done; echo kept"}));
    let event = until("the first event", || {
        let seen = pending.so_far();
        Some(seen.lines().find_map(|line| line.strip_prefix("id: "))?.trim().to_owned())
    });
    pending.hang_up();
    let resumed = client.resume(&event);
    // Another client loses its connection later and does not reconnect. When its call is cancelled, the time to reconnect
    // has passed for both.
    let (mut other, word) = (server.client("tok"), nap());
    let lost = other.start("bash", json!({"command": format!("sleep {word}")}));
    until("it to run", || (!with_word(&word).is_empty()).then_some(()));
    lost.hang_up();
    until("its end", || with_word(&word).is_empty().then_some(()));
    world.file("go", "");
    assert_eq!(resumed.reply().tool().stdout(), "kept\n");
}

#[test]
fn a_call_whose_client_does_not_reconnect_is_cancelled_after_the_grace_period() {
    // An hour never passes in a test, a second always does.
    for (grace, cancelled) in [(3600, false), (1, true)] {
        let world = World::new();
        let settings = format!("reconnect_grace = {grace}\n[log]\nlevel = \"debug\"");
        let server = HttpServer::configured(&world, &settings);
        let mut client = server.client("tok");
        let word = nap();
        let pending = client.start("bash", json!({"command": format!("sleep {word}")}));
        until("it to run", || (!with_word(&word).is_empty()).then_some(()));
        pending.hang_up();
        until("the server to notice", || server.log().contains("waiting for it to reconnect").then_some(()));
        if cancelled {
            until("its end", || with_word(&word).is_empty().then_some(()));
        } else {
            // A client without a protocol session, whose call is cancelled at once.
            let (mut modern, other) = (server.modern_client("tok"), nap());
            let lost = modern.start("bash", json!({"command": format!("sleep {other}")}));
            until("it to run", || (!with_word(&other).is_empty()).then_some(()));
            lost.hang_up();
            until("its end", || with_word(&other).is_empty().then_some(()));
            assert!(!with_word(&word).is_empty(), "a lost connection alone does not cancel");
        }
        client.bash("true").ok();
    }
}

#[test]
fn a_task_goes_on_when_its_client_has_hung_up() {
    let world = World::new();
    let server = HttpServer::configured(&world, "reconnect_grace = 1");
    for mut client in [server.client("tok"), server.modern_client("tok")] {
        let (task, call) = (nap(), nap());
        client.call("bash", json!({"command": format!("sleep {task}"), "run_in_background": true})).ok();
        let late = json!({"command": format!("sleep {call}"), "timeout": 1, "on_timeout": "background"});
        client.call("bash", late).ok();
        let word = nap();
        let pending = client.start("bash", json!({"command": format!("sleep {word}")}));
        until("it to run", || (!with_word(&word).is_empty()).then_some(()));
        pending.hang_up();
        until("the call's end", || with_word(&word).is_empty().then_some(()));
        assert!(!with_word(&task).is_empty() && !with_word(&call).is_empty(), "tasks do not depend on a connection");
        assert!(client.call("task_output", json!({"task_id": "t1"})).ok().starts_with("status: running\n"));
        client.call("task_stop", json!({"task_id": "t1"})).ok();
        client.call("task_stop", json!({"task_id": "t2"})).ok();
    }
}

#[test]
fn the_answer_to_a_question_comes_with_the_next_request() {
    let world = World::new();
    let file = world.home().join("tokens");
    std::fs::write(&file, "alice a-secret\nbob b-secret\n").unwrap();
    let server = HttpServer::start(&world, &["--token-file", &text(&file), "--ask", "touch"]);
    let client = |token| {
        let mut client = server.modern_client(token);
        client.capabilities = json!({"elicitation": {"form": {}}});
        client
    };
    let call = || json!({"name": "bash", "arguments": {"command": "touch mark && echo done"}});
    let asked = client("a-secret").begin("tools/call", call()).reply().answer()["result"].clone();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    assert!(!world.project().join("mark").exists());

    let mut answered = call();
    answered["requestState"] = asked["requestState"].clone();
    answered["inputResponses"] = json!({"decision": {"action": "accept", "content": {"decision": "once"}}});
    let again = client("b-secret").begin("tools/call", answered.clone()).reply().answer();
    assert_eq!(
        again["result"]["resultType"], "input_required",
        "the answer of another principal does not count: {again}"
    );
    let again = client("a-secret").begin("tools/call", answered.clone()).reply().answer();
    assert_eq!(again["result"]["resultType"], "input_required", "an answer counts once: {again}");

    answered["requestState"] = again["result"]["requestState"].clone();
    assert_eq!(client("a-secret").begin("tools/call", answered).reply().tool().stdout(), "done\n");
}

#[test]
fn an_id_that_is_taken_is_refused() {
    let world = World::new();
    let server = HttpServer::with_token(&world);
    let client = server.client("tok");
    let call = |command: &str| json!({"name": "bash", "arguments": {"command": command}});
    let first =
        client.begin_as(json!(7), "tools/call", call("touch begun; until [ -e go ]; do sleep 0.01; done; echo first"));
    until("it to run", || world.project().join("begun").exists().then_some(()));
    let second = client.begin_as(json!(7), "tools/call", call("touch mark")).reply();
    assert_eq!(second.answer()["error"]["code"], -32600);
    world.file("go", "");
    assert_eq!(first.reply().tool().stdout(), "first\n");
    assert!(!world.project().join("mark").exists());
    assert_eq!(client.begin_as(json!(7), "tools/call", call("echo again")).reply().tool().stdout(), "again\n");
}

#[test]
fn at_shutdown_running_calls_may_finish_and_listening_streams_are_closed() {
    let world = World::new();
    let mut server = HttpServer::configured(&world, "shutdown_grace = 600");
    let (mut client, mut modern, listener) = (server.client("tok"), server.modern_client("tok"), server.client("tok"));
    let command =
        |name| json!({"command": format!("touch {name}; until [ -e go ]; do sleep 0.01; done; echo finished")});
    let pending = client.start("bash", command("begun"));
    let modern = modern.start("bash", command("begun-too"));
    let stream = listener.listen();
    until("both to run", || {
        let run = ["begun", "begun-too"].iter().all(|name| world.project().join(name).exists());
        (run && stream.so_far().contains("200")).then_some(())
    });
    server.terminate();
    until("the stream to close", || stream.is_over().then_some(()));
    world.file("go", "");
    assert_eq!(pending.reply().tool().stdout(), "finished\n");
    assert_eq!(modern.reply().tool().stdout(), "finished\n");
    assert!(server.wait_for_exit().success());
}

#[test]
fn connections_without_a_request_do_not_delay_the_shutdown() {
    let world = World::new();
    let mut server = HttpServer::configured(&world, "shutdown_grace = 600");
    let idle: Vec<TcpStream> = (0..3).map(|_| TcpStream::connect(&server.address).unwrap()).collect();
    (&idle[0]).write_all(b"POST /mcp HTTP/1.1\r\nhost:").unwrap();
    server.client("tok").bash("true").ok();
    server.terminate();
    assert!(server.wait_for_exit().success());
}

#[test]
fn calls_that_outlast_the_shutdown_grace_are_ended() {
    let world = World::new();
    let mut server = HttpServer::configured(&world, "shutdown_grace = 1");
    let (mut client, word) = (server.client("tok"), nap());
    client.bash(&format!("sleep {word} &")).ok();
    let _pending = client.start("bash", json!({"command": format!("sleep {word}")}));
    until("both to run", || (with_word(&word).len() >= 2).then_some(()));
    server.terminate();
    assert!(server.wait_for_exit().success());
    assert!(with_word(&word).is_empty());
}

#[test]
fn kill_leaves_no_process_behind() {
    let world = World::new();
    let server = HttpServer::with_token(&world);
    let word = nap();
    server.client("tok").bash(&format!("setsid sleep {word} >/dev/null 2>&1 &")).ok();
    until("it to run", || (!with_word(&word).is_empty()).then_some(()));
    drop(server);
    until("its end", || with_word(&word).is_empty().then_some(()));
}
