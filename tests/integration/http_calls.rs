//! Calls over HTTP from their first word to their last: progress, questions, lost connections, and the server's end.

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{HttpServer, World, nap, text, until, with_word};

#[test]
fn progress_and_cancel_work_as_on_stdio() {
    let world = World::new();
    let server = HttpServer::with_token(&world);
    for mut client in [server.client("tok"), server.modern_client("tok")] {
        let command = "for i in 1 2 3; do echo line $i; sleep 0.1; done";
        let params = json!({"name": "bash", "arguments": {"command": command}, "_meta": {"progressToken": "t"}});
        let reply = client.begin("tools/call", params).reply();
        let notes = reply.messages().into_iter().filter(|message| message["method"] == "notifications/progress");
        let lines: Vec<String> = notes.map(|note| note["params"]["message"].as_str().unwrap().to_owned()).collect();
        assert_eq!(lines, ["line 1", "line 2", "line 3"]);
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
fn with_protocol_sessions_the_client_may_come_back_for_the_answer() {
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
    std::thread::sleep(Duration::from_millis(2500));
    world.file("go", "");
    assert_eq!(resumed.reply().tool().stdout(), "kept\n");
}

#[test]
fn a_call_that_nobody_comes_back_for_is_cancelled() {
    let world = World::new();
    let server = HttpServer::configured(&world, "reconnect_grace = 1");
    let mut client = server.client("tok");
    let word = nap();
    let pending = client.start("bash", json!({"command": format!("sleep {word}")}));
    until("it to run", || (!with_word(&word).is_empty()).then_some(()));
    pending.hang_up();
    std::thread::sleep(Duration::from_millis(300));
    assert!(!with_word(&word).is_empty(), "not at once");
    until("its end", || with_word(&word).is_empty().then_some(()));
    client.bash("true").ok();
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
        assert!(!with_word(&task).is_empty() && !with_word(&call).is_empty(), "tasks are no calls under way");
        assert!(client.call("task_output", json!({"task_id": "t1"})).ok().starts_with("status: running\n"));
        client.call("task_stop", json!({"task_id": "t1"})).ok();
        client.call("task_stop", json!({"task_id": "t2"})).ok();
    }
}

#[test]
fn a_question_that_one_request_brings_home_is_answered_by_the_next() {
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
    assert_eq!(again["result"]["resultType"], "input_required", "another's answer is none: {again}");
    let again = client("a-secret").begin("tools/call", answered.clone()).reply().answer();
    assert_eq!(again["result"]["resultType"], "input_required", "it was used up: {again}");

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
fn at_the_end_running_calls_may_finish_and_listeners_go() {
    let world = World::new();
    let mut server = HttpServer::with_token(&world);
    let (mut client, mut modern, listener) = (server.client("tok"), server.modern_client("tok"), server.client("tok"));
    let command = json!({"command": "touch begun-$0; sleep 1; echo finished"});
    let pending = client.start("bash", command.clone());
    let modern = modern.start("bash", command);
    let stream = listener.listen();
    until("both to run", || {
        (world.project().join("begun-bash").exists() && stream.so_far().contains("200")).then_some(())
    });
    server.terminate();
    until("the listener to go", || stream.is_over().then_some(()));
    assert_eq!(pending.reply().tool().stdout(), "finished\n");
    assert_eq!(modern.reply().tool().stdout(), "finished\n");
    assert!(server.wait_for_exit().success());
}

#[test]
fn connections_that_ask_for_nothing_do_not_delay_the_end() {
    let world = World::new();
    let mut server = HttpServer::configured(&world, "shutdown_grace = 600");
    let idle: Vec<TcpStream> = (0..3).map(|_| TcpStream::connect(&server.address).unwrap()).collect();
    (&idle[0]).write_all(b"POST /mcp HTTP/1.1\r\nhost:").unwrap();
    server.client("tok").bash("true").ok();
    server.terminate();
    assert!(server.wait_for_exit().success());
}

#[test]
fn calls_that_outlast_the_grace_are_ended() {
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
