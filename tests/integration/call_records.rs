//! Calls with an id run at most once, whatever breaks: a repeated id gets the result of the only execution.

use serde_json::{Value, json};

use crate::support::{
    HttpClient, HttpServer, Person, Reply, StartOptions, World, choice, http_everywhere, nap, text, until, with_word,
};

/// A call that adds a line to `ran` each time it is executed.
fn call(id: &str, command: &str) -> Value {
    let command = format!("echo {id} >> ran; {command}");
    json!({"name": "bash", "arguments": {"command": command}, "_meta": {"testudo/callId": id}})
}

fn peek(id: &str) -> Value {
    json!({"name": "bash", "_meta": {"testudo/callId": id, "testudo/peek": true}})
}

#[track_caller]
fn outcome(reply: &Reply) -> &str {
    reply.raw["_meta"]["testudo/outcome"].as_str().unwrap_or_else(|| panic!("no outcome: {}", reply.raw))
}

fn send(client: &mut HttpClient, params: Value) -> Reply {
    client.begin("tools/call", params).reply().tool()
}

fn has_begun(world: &World, id: &str) -> bool {
    std::fs::read_to_string(world.project().join("ran")).is_ok_and(|ran| ran.contains(id))
}

#[track_caller]
fn assert_ran_once(world: &World, id: &str) {
    let ran = world.read("ran");
    assert_eq!(ran.lines().filter(|line| *line == id).count(), 1, "{ran}");
}

const FIRST: &str = "first-call-0123456789";
const SECOND: &str = "second-call-0123456789";
const THIRD: &str = "third-call-0123456789";

#[test]
fn a_repeated_id_gets_the_same_result_and_runs_nothing() {
    let world = World::new();
    for modern in [false, true] {
        let mut server = world.server_with(&[], StartOptions { modern, ..StartOptions::default() });
        let id = format!("stdio-call-0123456789-{modern}");
        let first = Reply { raw: server.request("tools/call", call(&id, "echo $RANDOM$RANDOM; exit 3")) };
        assert!(first.ok().starts_with("exit_code: 3\n"), "{first:?}");
        assert_eq!(outcome(&first), "finished");
        let again = Reply { raw: server.request("tools/call", call(&id, "echo $RANDOM$RANDOM; exit 3")) };
        assert_eq!(again.raw, first.raw);
        let seen = Reply { raw: server.request("tools/call", peek(&id)) };
        assert_eq!(seen.raw, first.raw);
        assert_ran_once(&world, &id);
        let other = Reply { raw: server.request("tools/call", call(&id, "echo other")) };
        assert!(other.err().contains("other arguments"), "{other:?}");
        let without = server.bash("true");
        assert!(without.raw.get("_meta").is_none_or(|meta| meta.get("testudo/outcome").is_none()), "{without:?}");
    }
}

#[test]
fn while_it_runs_a_repeated_id_waits_and_a_look_does_not() {
    let world = World::new();
    let server = HttpServer::with_token(&world);
    for (mut client, id) in [(server.client("tok"), FIRST), (server.modern_client("tok"), SECOND)] {
        assert_eq!(outcome(&send(&mut client, peek(id))), "unknown");
        let command = format!("until [ -e go-{id} ]; do sleep 0.01; done; echo $RANDOM$RANDOM");
        let first = client.begin("tools/call", call(id, &command));
        until("it to run", || has_begun(&world, id).then_some(()));
        let seen = send(&mut client, peek(id));
        assert_eq!(outcome(&seen), "running");
        assert!(seen.err().contains("has not finished"), "{seen:?}");
        let second = client.begin("tools/call", call(id, &command));
        world.file(&format!("go-{id}"), "");
        let (first, second) = (first.reply().tool(), second.reply().tool());
        assert_eq!(first.ok(), second.ok());
        assert_eq!(outcome(&second), "finished");
        assert_ran_once(&world, id);
    }
}

#[test]
fn a_call_with_an_id_outlives_its_connection() {
    let world = World::new();
    let server = HttpServer::configured(&world, "reconnect_grace = 0");
    for (mut client, id) in [(server.client("tok"), FIRST), (server.modern_client("tok"), SECOND)] {
        let command = format!("until [ -e go-{id} ]; do sleep 0.01; done; echo whole");
        let mut params = call(id, &command);
        params["_meta"]["progressToken"] = json!("t");
        let first = client.begin("tools/call", params);
        until("it to run", || has_begun(&world, id).then_some(()));
        first.hang_up();
        assert_eq!(outcome(&send(&mut client, peek(id))), "running");
        // Another call without an id shows that the server has noticed the lost connection: its own was lost later.
        let word = nap();
        let other = client.start("bash", json!({"command": format!("sleep {word}")}));
        until("it to run", || (!with_word(&word).is_empty()).then_some(()));
        other.hang_up();
        until("the end of the other", || with_word(&word).is_empty().then_some(()));
        assert_eq!(outcome(&send(&mut client, peek(id))), "running");
        let again = client.begin("tools/call", call(id, &command));
        world.file(&format!("go-{id}"), "");
        assert_eq!(again.reply().tool().stdout(), "whole\n");
        assert_ran_once(&world, id);
    }
}

#[test]
fn a_cancel_still_ends_it_and_the_record_says_so() {
    let world = World::new();
    let server = HttpServer::with_token(&world);
    let word = nap();
    let client = server.client("tok");
    let pending = client.begin_as(json!("mine"), "tools/call", call(FIRST, &format!("sleep {word}")));
    until("it to run", || (!with_word(&word).is_empty()).then_some(()));
    client.notify("notifications/cancelled", json!({"requestId": "mine"}));
    until("its end", || with_word(&word).is_empty().then_some(()));
    drop(pending);

    // Without protocol sessions the id of the call names it.
    for (header, id) in [(false, SECOND), (true, THIRD)] {
        let mut client = server.modern_client("tok");
        let word = nap();
        let command = format!("sleep {word}");
        let pending = client.begin("tools/call", call(id, &command));
        until("it to run", || (!with_word(&word).is_empty()).then_some(()));
        pending.hang_up();
        let params = if header {
            client.headers.push(("testudo-call-id", id.to_owned()));
            json!({})
        } else {
            json!({"_meta": {"testudo/callId": id}})
        };
        client.notify("notifications/cancelled", params);
        until("its end", || with_word(&word).is_empty().then_some(()));
        client.headers.clear();
        let again = send(&mut client, call(id, &command));
        assert_eq!(outcome(&again), "finished", "{again:?}");
        assert_ran_once(&world, id);
    }
}

#[test]
fn after_kill_9_a_running_call_is_lost_and_a_finished_one_is_not() {
    let world = World::new();
    for modern in [true, false] {
        let client = |server: &HttpServer| if modern { server.modern_client("tok") } else { server.client("tok") };
        let (done, running) = (format!("done-{modern}-0123456789"), format!("running-{modern}-0123456789"));
        let mut server = HttpServer::with_token(&world);
        let mut first = client(&server);
        let kept = send(&mut first, call(&done, "echo kept"));
        let word = nap();
        let command = format!("sleep {word}");
        let pending = first.begin("tools/call", call(&running, &command));
        until("it to run", || (!with_word(&word).is_empty()).then_some(()));
        server.kill();
        drop(pending);
        until("its end", || with_word(&word).is_empty().then_some(()));

        let server = HttpServer::with_token(&world);
        let mut second = client(&server);
        let again = send(&mut second, call(&running, &command));
        assert_eq!(outcome(&again), "lost");
        assert!(again.err().contains("Nothing was run again"), "{again:?}");
        assert_eq!(outcome(&send(&mut second, peek(&running))), "lost");
        let again = send(&mut second, call(&done, "echo kept"));
        assert_eq!(again.ok(), kept.ok());
        assert_eq!(outcome(&again), "finished");
        assert_ran_once(&world, &running);
        assert_ran_once(&world, &done);
    }
    // The same over stdio.
    let mut server = world.server(&[]);
    let word = nap();
    let command = format!("sleep {word}");
    let _pending = server.send_request("tools/call", call(FIRST, &command));
    until("it to run", || (!with_word(&word).is_empty()).then_some(()));
    server.kill();
    until("its end", || with_word(&word).is_empty().then_some(()));
    let again = Reply { raw: world.server(&[]).request("tools/call", call(FIRST, &command)) };
    assert_eq!(outcome(&again), "lost");
    assert_ran_once(&world, FIRST);
}

#[test]
fn two_servers_with_one_state_run_a_call_once() {
    let world = World::new();
    let (one, other) = (HttpServer::with_token(&world), HttpServer::with_token(&world));
    let command = "until [ -e go ]; do sleep 0.01; done; echo $RANDOM$RANDOM";
    let first = one.modern_client("tok").begin("tools/call", call(FIRST, command));
    until("it to run", || has_begun(&world, FIRST).then_some(()));
    assert_eq!(outcome(&send(&mut other.modern_client("tok"), peek(FIRST))), "running");
    let second = other.modern_client("tok").begin("tools/call", call(FIRST, command));
    world.file("go", "");
    assert_eq!(first.reply().tool().ok(), second.reply().tool().ok());
    assert_ran_once(&world, FIRST);
}

#[test]
fn a_header_names_the_call_and_must_not_differ_from_the_message() {
    let world = World::new();
    let server = HttpServer::with_token(&world);
    for mut client in [server.client("tok"), server.modern_client("tok")] {
        client.headers = vec![("testudo-call-id", SECOND.to_owned())];
        let reply = client.begin("tools/call", call(FIRST, "true")).reply();
        assert_eq!(reply.status, 400, "{reply:?}");
        assert!(reply.body.contains("must be the same"), "{reply:?}");
        client.headers = vec![("testudo-call-id", "17".to_owned())];
        let reply = client.begin("tools/call", json!({"name": "bash", "arguments": {"command": "true"}})).reply();
        assert_eq!(reply.status, 400, "{reply:?}");
        assert!(reply.body.contains("such as a UUID"), "{reply:?}");
    }
    assert!(!world.project().join("ran").exists());
    let mut client = server.modern_client("tok");
    client.headers = vec![("testudo-call-id", THIRD.to_owned())];
    let bare = json!({"name": "bash", "arguments": {"command": format!("echo {THIRD} >> ran")}});
    assert_eq!(outcome(&send(&mut client, bare.clone())), "finished");
    assert_eq!(outcome(&send(&mut client, bare)), "finished");
    assert_ran_once(&world, THIRD);
    // A proxy may add the header to a message that has the id already.
    let reply = send(&mut client, json!({"name": "bash", "_meta": {"testudo/callId": THIRD, "testudo/peek": true}}));
    assert_eq!(outcome(&reply), "finished");
}

#[test]
fn no_other_token_sees_a_call() {
    let world = World::new();
    let file = world.home().join("tokens");
    std::fs::write(&file, "alice a-secret\nbob b-secret\n").unwrap();
    let server = HttpServer::start(&world, &["--token-file", &text(&file)]);
    send(&mut server.modern_client("a-secret"), call(FIRST, "echo of alice")).ok();
    let bob = send(&mut server.modern_client("b-secret"), peek(FIRST));
    assert_eq!(outcome(&bob), "unknown");
    send(&mut server.modern_client("b-secret"), call(FIRST, "echo of bob")).ok();
    assert_eq!(send(&mut server.modern_client("a-secret"), call(FIRST, "echo of alice")).stdout(), "of alice\n");
}

#[test]
fn a_question_runs_nothing_and_its_answer_comes_with_the_same_id() {
    let world = World::new();
    let server = HttpServer::start(&world, &["--token", "tok", "--ask", "touch"]);
    let mut client = server.modern_client("tok");
    client.capabilities = json!({"elicitation": {"form": {}}});
    let asked = client.begin("tools/call", call(FIRST, "touch mark")).reply().answer()["result"].clone();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    assert_eq!(outcome(&send(&mut client, peek(FIRST))), "unknown");
    let mut answered = call(FIRST, "touch mark");
    answered["requestState"] = asked["requestState"].clone();
    answered["inputResponses"] = json!({"decision": choice("once")});
    send(&mut client, answered.clone()).ok();
    let again = send(&mut client, answered);
    assert_eq!(outcome(&again), "finished");
    assert_ran_once(&world, FIRST);

    // With sessions, the call waits for the answer.
    let mut client = server.client_with("tok", &json!({"elicitation": {"form": {}}}));
    let stream = client.listen();
    let pending = client.begin("tools/call", call(SECOND, "touch mark"));
    let question = until("the question", || pending.requests("elicitation/create").into_iter().next());
    assert!(stream.requests("elicitation/create").is_empty(), "the question belongs to the call");
    client.respond(&question, &choice("once"));
    assert_eq!(outcome(&pending.reply().tool()), "finished");
    assert_ran_once(&world, SECOND);

    let person = Person::new();
    let mut server = world.server_with(&["--ask", "touch"], person.options());
    let reply = Reply { raw: server.request("tools/call", call(THIRD, "touch mark")) };
    assert_eq!(outcome(&reply), "finished");
    assert_ran_once(&world, THIRD);
}

#[test]
fn without_its_record_a_call_with_an_id_does_not_run() {
    let world = World::new();
    let mut server = world.server(&[]);
    server.bash("true").ok();
    let calls = world.home().join(".local/state/testudo/calls");
    assert!(!calls.exists(), "calls without an id leave no file");
    std::fs::write(&calls, "in the way").unwrap();
    let refused = Reply { raw: server.request("tools/call", call(FIRST, "true")) };
    assert!(refused.err().contains("without its record"), "{refused:?}");
    assert!(!world.project().join("ran").exists());
    std::fs::remove_file(&calls).unwrap();
    Reply { raw: server.request("tools/call", call(FIRST, "true")) }.ok();
    let short = json!({"name": "bash", "arguments": {"command": "true"}, "_meta": {"testudo/callId": "17"}});
    let answer = server.send_request("tools/call", short).answer();
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
}

#[test]
fn an_id_whose_result_is_no_longer_kept_does_not_run_again() {
    let world = World::new();
    let results = world.home().join(".local/state/testudo/calls/clients");
    Reply { raw: world.server(&[]).request("tools/call", call(FIRST, "echo old")) }.ok();
    let aged = format!("find {} -path '*/results/{FIRST}' -exec touch -d '2 hours ago' {{}} +", text(&results));
    assert!(std::process::Command::new("sh").args(["-c", &aged]).status().unwrap().success());
    let mut server = world.server(&[]);
    Reply { raw: server.request("tools/call", call(SECOND, "echo new")) }.ok();
    let gone = until("the old result to be given up", || {
        let seen = Reply { raw: server.request("tools/call", peek(FIRST)) };
        (outcome(&seen) == "lost").then_some(seen)
    });
    assert!(gone.err().contains("its result is no longer kept"), "{gone:?}");
    let again = Reply { raw: server.request("tools/call", call(FIRST, "echo old")) };
    assert_eq!(outcome(&again), "lost");
    assert_ran_once(&world, FIRST);
    assert_eq!(outcome(&Reply { raw: server.request("tools/call", peek(SECOND)) }), "finished");
}

#[test]
fn no_command_reads_or_forges_a_record() {
    http_everywhere(&["--token", "tok"], |inside| {
        let mut client = inside.server.modern_client("tok");
        send(&mut client, call(FIRST, "echo a-secret-result")).ok();
        let calls = text(&inside.world.home().join(".local/state/testudo/calls"));
        assert!(inside.as_server_user(&format!("grep -r a-secret-result {calls}")).contains("results/"));
        // The command itself must not hold what it looks for.
        let tries = format!(
            "grep -rh secret {calls}; cd {calls}/clients/* && echo forged > results/{FIRST}; rm -rf {calls}; true"
        );
        let shown = client.bash(&tries).text();
        assert!(!shown.contains("a-secret-result"), "{shown}");
        let again = send(&mut client, call(FIRST, "echo a-secret-result"));
        assert_eq!((outcome(&again), again.stdout().as_str()), ("finished", "a-secret-result\n"));
        assert_ran_once(&inside.world, FIRST);
    });
}
