//! The API on the control socket, as a program would use it, and `--json` of the commands that stand on it.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::process::Command;

use serde_json::{Value, json};

use crate::people::{Growing, asked, output, ps, silent, sockets};
use crate::support::{World, nap, until};

/// A request to the only server of the world: the status and the body.
fn api(world: &World, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let socket = until("the socket", || sockets(world).pop());
    let mut stream = UnixStream::connect(socket).unwrap();
    let body = body.to_string();
    // In one piece: the server may answer and close before it has read a body that it does not need.
    let length = body.len();
    let request =
        format!("{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    let body = answer.split_once("\r\n\r\n").unwrap().1;
    (status, serde_json::from_str(body).unwrap_or(Value::Null))
}

#[test]
fn a_command_can_be_stopped() {
    let world = World::new();
    let mut server = world.server(&[]);
    let call = server.start("bash", json!({"command": format!("sleep {}", nap())}));
    let id = until("the command", || {
        ps(&world)["servers"][0]["clients"][0]["sessions"][0]["commands"][0]["id"].as_str().map(str::to_owned)
    });
    assert_eq!(api(&world, "POST", &format!("/v1/commands/{id}/stop"), &json!({})).0, 202);
    assert_eq!(call.reply().field("exit_code").as_deref(), Some("143"));
    let (status, body) = api(&world, "POST", &format!("/v1/commands/{id}/stop"), &json!({}));
    assert_eq!((status, &body["error"]), (404, &json!(format!("no command {id} runs"))));
}

#[test]
fn a_stored_output_is_read_by_range() {
    let world = World::new();
    let mut server = world.server(&[]);
    let reply = server.bash("seq 20000").ok();
    let id =
        reply.lines().find_map(|line| line.strip_prefix("stored: ")).unwrap().split(' ').next().unwrap().to_owned();
    let state = ps(&world);
    let client = &state["servers"][0]["clients"][0];
    let number = client["number"].as_u64().unwrap();
    assert!(client["sessions"][0]["outputs"].to_string().contains(&id), "{client}");
    let part = |from: u64, most: u64| {
        api(&world, "GET", &format!("/v1/clients/{number}/outputs/{id}?from={from}&max={most}"), &Value::Null).1
    };
    assert_eq!(part(0, 6), json!({"from": 0, "next": 6, "text": "1\n2\n3\n", "end": false}));
    assert_eq!(part(6, 2)["text"], "4\n");
    let end = part(10_000_000, 10);
    assert_eq!((&end["text"], &end["end"]), (&json!(""), &json!(true)));
    assert_eq!(api(&world, "GET", &format!("/v1/clients/{number}/outputs/o999"), &Value::Null).0, 404);
    assert_eq!(api(&world, "GET", &format!("/v1/clients/{}/outputs/{id}", number + 1), &Value::Null).0, 404);
}

#[test]
fn the_lines_of_an_output_are_read_by_number_while_it_runs_and_afterwards() {
    let world = World::new();
    let mut server = world.server(&[]);
    // What has ended is kept for those who watch.
    let watch = Growing::start(&world, &["watch"]);
    watch.until(&format!("-- server {}", server.pid()));
    let command = "seq 100000; printf '\\033[31mred\\xff'; echo oops >&2; until [ -e go ]; do sleep 0.01; done";
    let call = server.start("bash", json!({ "command": command }));
    let lines = |stream: &str, from: u64, count: u64| {
        api(&world, "GET", &format!("/v1/commands/c1/lines/{stream}?from={from}&count={count}"), &Value::Null)
    };
    until("the last line", || (lines("stdout", 1, 1).1["total"] == 100_001).then_some(()));
    let check = || {
        assert_eq!(
            lines("stdout", 50_000, 2).1,
            json!({"from": 50_000, "lines": ["50000", "50001"], "total": 100_001})
        );
        assert_eq!(lines("stdout", 100_001, 9).1["lines"], json!(["\u{1b}[31mred\u{fffd}"]));
        assert_eq!(lines("stderr", 1, 9).1["lines"], json!(["oops"]));
        assert_eq!(lines("stdout", 7_000_000, 9).1["lines"], json!([]));
        assert_eq!(lines("stdout", 1, 1_000_000).1["lines"].as_array().unwrap().len(), 1000, "an answer is bounded");
        assert_eq!((lines("terminal", 1, 1).0, lines("nonsense", 1, 1).0), (404, 404));
    };
    check();
    world.file("go", "");
    call.reply().ok();
    until("the end", || (api(&world, "GET", "/v1/commands/c1/tail", &Value::Null).1["exit_code"] == 0).then_some(()));
    check();
}

#[test]
fn new_output_is_told_from_where_the_reader_is_and_what_is_typed_arrives() {
    let world = World::new();
    let mut server = world.server(&[]);
    let command = "printf 'aä'; while read -r line; do echo \"<$line>\"; done";
    server.call("bash", json!({"command": command, "run_in_background": true})).ok();
    let tail = |from: u64| api(&world, "GET", &format!("/v1/commands/c1/tail?stdout={from}"), &Value::Null).1;
    let first = until("the output", || Some(tail(0)).filter(|tail| tail["streams"][0]["next"] == 3));
    assert_eq!((&first["streams"][0]["text"], &first["over"]), (&json!("aä"), &json!(false)));
    let typed = api(&world, "POST", "/v1/commands/c1/input", &json!({"text": "hello", "keys": ["Enter"]}));
    assert_eq!(typed.0, 204);
    until("the answer", || (tail(3)["streams"][0]["text"] == "<hello>\n").then_some(()));
    assert_eq!(api(&world, "POST", "/v1/commands/c1/input", &json!({"keys": ["Nonsense"]})).0, 400);
    let (status, body) = api(&world, "POST", "/v1/commands/c1/input", &json!({"text": 5, "password": "hunter2"}));
    assert!(status == 400 && !body.to_string().contains("hunter2"), "{body}");
    assert_eq!(api(&world, "POST", "/v1/commands/c9/input", &json!({"text": "x"})).0, 404);
    assert_eq!(api(&world, "POST", "/v1/commands/c1/input", &json!({"keys": ["C-d"]})).0, 204);
    until("the end", || ps(&world).to_string().contains("\"exit_code\":0").then_some(()));
}

#[test]
fn watch_and_revoke_speak_json() {
    let world = World::new();
    let watch = Growing::start(&world, &["watch", "--json"]);
    let mut server = world.server_with(&["--ask", "touch"], silent());
    until("watch to follow the server", || {
        server.bash("true").ok();
        watch.seen().contains("process_exit").then_some(())
    });
    let (call, id) = asked(&world, &mut server, "touch one");
    output(&world, &["approve", &id, "program"]);
    call.reply().ok();
    watch.until("\"decision\":\"program\"");
    let complete = watch.seen();
    let lines: Vec<Value> = complete.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    assert!(lines.len() >= complete.lines().count() - 1, "every line is JSON: {complete}");
    assert!(lines.iter().any(|line| line.to_string().contains("\"question\"")), "{complete}");
    let revoked: Value = serde_json::from_str(&output(&world, &["revoke", "--json", "all"])).unwrap();
    assert_eq!((&revoked[0]["program"], revoked.as_array().unwrap().len()), (&json!("touch"), 1));
    assert_eq!(output(&world, &["revoke", "--json", "all"]).trim(), "[]");
    assert_eq!(world.run(&["revoke", "--json", "nothing"]).status.code(), Some(1));
}

#[test]
fn an_approver_is_told_that_the_console_was_faster_and_the_console_that_it_was_too_late() {
    let world = World::new();
    let mut server = world.server_with(&["--ask", "touch"], silent());
    let approve = Growing::start(&world, &["approve", "--wait"]);
    approve.until("waiting for questions");
    let (call, id) = asked(&world, &mut server, "touch one");
    approve.until("│ touch one");
    let answer = json!({"decision": "once", "by": "the console"});
    let path = format!("/v1/questions/{id}");
    assert_eq!(api(&world, "POST", &path, &answer).0, 204);
    call.reply().ok();
    approve.until("answered by the console: once");
    let cancelled = until("the client to be told", || server.notifications("notifications/cancelled").pop());
    assert_eq!(cancelled["reason"], "answered by the console");
    let late = api(&world, "POST", &path, &json!({"decision": "deny", "by": "the console"}));
    assert_eq!(late, (409, json!({"error": "it was answered by the console: once"})));
}

#[test]
fn a_program_of_another_user_is_refused_even_where_file_permissions_let_it_connect() {
    assert!(rustix::process::geteuid().is_root(), "this test runs programs as two users, so it needs root");
    let world = World::for_user(65534);
    let words = crate::support::user_words();
    let command = world.command_by(&words, &[]);
    let _server = crate::support::Client::connect(command, crate::support::StartOptions::default());
    let socket = until("the socket", || sockets(&world).pop());
    for path in socket.ancestors().take_while(|path| path.starts_with(world.home())) {
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o777)).unwrap();
    }
    let ask = |user: &str| {
        let user = format!("--reuid={user}");
        let socket = socket.to_str().unwrap();
        let curl = ["curl", "-si", "--unix-socket", socket, "http://x/v1/state"];
        let output =
            Command::new("setpriv").args([&user, "--regid=65534", "--clear-groups"]).args(curl).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let refused = ask("12345");
    assert!(refused.contains("403 Forbidden") && !refused.contains("\"pid\""), "{refused}");
    assert!(ask("65534").contains("\"pid\""));
}
