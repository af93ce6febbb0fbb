//! The audit log: what it holds, what it must not hold, and who can reach it.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Person, World, choice, everywhere, until};

fn path(world: &World) -> PathBuf {
    world.home().join(".local/state/testudo/audit.jsonl")
}

/// The lines so far. The log is written a moment after the call.
fn lines(world: &World) -> Vec<Value> {
    let text = std::fs::read_to_string(path(world)).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("not JSON: {line}"))).collect()
}

#[track_caller]
fn wait_for(world: &World, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    until(what, || lines(world).into_iter().find(|line| wanted(line)))
}

fn is(event: &'static str) -> impl Fn(&Value) -> bool {
    move |line| line["event"] == event
}

#[test]
fn a_call_is_told_from_its_beginning_to_its_end() {
    let world = World::new();
    let mut server = world.server(&["--deny", "rm"]);
    server.call("bash", json!({"command": "echo secret-output; exit 3", "description": "try", "session": "work"})).ok();
    wait_for(&world, "the result", is("result"));
    let all = lines(&world);
    let events: Vec<&str> = all.iter().map(|line| line["event"].as_str().unwrap()).collect();
    assert_eq!(events, ["server_start", "call", "verdict", "process_start", "process_exit", "result"]);
    let (start, call, begun, exit) = (&all[0], &all[1], &all[3], &all[4]);
    assert_eq!(start["configuration"]["project"], world.project().to_str().unwrap());
    assert!(start["configuration"]["policy"].to_string().contains("rm"), "{start}");
    for line in &all[1..] {
        let who = (&line["principal"], &line["client"], &line["session"], &line["tool"]);
        assert_eq!(who, (&json!("local"), &json!("test 1"), &json!("work"), &json!("bash")));
    }
    assert_eq!(call["arguments"]["command"], "echo secret-output; exit 3");
    assert_eq!((&begun["cwd"], &begun["description"]), (&json!(world.project()), &json!("try")));
    assert_eq!((&exit["exit_code"], &exit["stdout_bytes"]), (&json!(3), &json!(14)));
    let mode = std::fs::metadata(path(&world)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    server.hang_up();
    server.wait_for_exit();
    wait_for(&world, "the end", is("server_end"));
}

#[test]
fn refusals_questions_tasks_and_denied_paths_are_told() {
    let world = World::new();
    let person = Person::new();
    let mut server = world.server_with(&["--deny", "rm", "--ask", "touch"], person.options());
    server.bash("rm x").err();
    let verdict = wait_for(&world, "the verdict", |line| line["verdict"] == "deny");
    assert!(verdict["rule"].as_str().unwrap().contains("rm"), "{verdict}");
    wait_for(&world, "the refusal", is("refused"));
    person.will(choice("session"));
    server.bash("touch a").ok();
    let answer = wait_for(&world, "the answer", is("answer"));
    assert_eq!((&answer["decision"], &answer["by"]), (&json!("session"), &json!("the client")));
    server.bash("touch a").ok();
    wait_for(&world, "the approval", |line| line["approved_before"] == true);
    server.call("view", json!({"path": "/etc/passwd"})).err();
    let denied = wait_for(&world, "the denied path", is("denied"));
    assert!(denied["what"].as_str().unwrap().contains("/etc/passwd"), "{denied}");
    let task = server.call("bash", json!({"command": "exit 4", "run_in_background": true})).ok();
    let id = task.lines().next().unwrap().strip_prefix("task_id: ").unwrap().to_owned();
    wait_for(&world, "the task", |line| line["task"] == json!(id));
    wait_for(&world, "its end", |line| line["exit_code"] == 4);
    let timeout = json!({"command": "sleep 60", "timeout": 100});
    server.call("bash", timeout).ok();
    wait_for(&world, "the timeout", |line| line["ended_by"] == "timeout");
}

#[test]
fn contents_and_secrets_are_not_in_it() {
    let world = World::new();
    let mut command = world.command(&[]);
    command.env("MY_TOKEN", "value-of-the-token");
    let mut server = crate::support::Client::connect(command, crate::support::StartOptions::default());
    server.call("create_file", json!({"path": "a", "content": "the content"})).ok();
    server.call("str_replace", json!({"path": "a", "old_str": "the content", "new_str": "other words"})).ok();
    server.call("bash", json!({"command": "cat", "stdin": "typed words"})).ok();
    server.bash("echo value-of-the-token; export DB_PASSWORD=hunter2; true https://me:pw1234@host/").ok();
    server.bash("printf 'from-the-\\x6futput'; : \u{202e}\u{9b}").ok();
    wait_for(&world, "the last result", |line| line["event"] == "result" && line["call"] == 5);
    let text = std::fs::read_to_string(path(&world)).unwrap();
    for secret in
        ["the content", "other words", "typed words", "value-of-the-token", "hunter2", "pw1234", "from-the-output"]
    {
        assert!(!text.contains(secret), "{secret} is in the log:\n{text}");
    }
    assert!(text.contains("[redacted]") && !text.contains(['\u{202e}', '\u{9b}']), "{text}");
    let call = wait_for(&world, "the file", |line| line["tool"] == "create_file" && line["event"] == "call");
    assert_eq!(call["arguments"], json!({"path": "a", "content": {"bytes": 11}}));
}

/// What the log shows is what an agent did, so no agent may touch it.
#[test]
fn commands_and_file_tools_cannot_reach_it() {
    everywhere("", &[], |inside| {
        let log = inside.world.home().join(".local/state/testudo/audit.jsonl");
        until("the log", || log.exists().then_some(()));
        for attack in
            ["cat LOG", "echo x >> LOG", "rm LOG", "mv LOG LOG.2", ": > LOG", "truncate -s 0 LOG", "ln LOG mine"]
        {
            inside.cannot(&attack.replace("LOG", log.to_str().unwrap()));
        }
        inside.client.call("view", json!({"path": log})).err();
        inside.client.call("create_file", json!({"path": log, "content": "x"})).err();
        inside.does("true");
        let verified = inside.world.run(&["audit", "verify"]);
        assert!(verified.status.success(), "{verified:?}");
        until("the attack in the log", || {
            std::fs::read_to_string(&log).unwrap().contains("truncate -s 0").then_some(())
        });
    });
}

#[test]
fn people_read_it_with_filters() {
    let world = World::new();
    let mut server = world.server(&["--deny", "rm"]);
    server.bash("echo fine").ok();
    server.call("bash", json!({"command": "exit 7", "session": "other"})).ok();
    server.bash("rm x").err();
    wait_for(&world, "the last result", |line| line["event"] == "result" && line["call"] == 3);
    let audit = |words: &[&str]| {
        let output = world.run(&[&["audit"], words].concat());
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let all = audit(&[]);
    for part in
        ["starts: testudo", "local/default  $ echo fine", "local/other  exit 7 after ", ": exit 7", "refused by policy"]
    {
        assert!(all.contains(part), "{part} is missing in {all}");
    }
    let failed = audit(&["--failed"]);
    assert!(failed.contains("exit 7 after") && !failed.contains("echo fine"), "{failed}");
    let denied = audit(&["--denied"]);
    assert!(denied.contains("rm x") && !denied.contains("exit 7"), "{denied}");
    let other = audit(&["--session", "other"]);
    assert!(other.contains("exit 7") && !other.contains("echo fine") && !other.contains("rm x"), "{other}");
    assert_eq!(audit(&["--since", "1h"]), all);
    let later = chrono_in_an_hour();
    assert_eq!(audit(&["--since", &later]), "");
    let json = audit(&["--json"]);
    assert_eq!(json, std::fs::read_to_string(path(&world)).unwrap());
    let wrong = world.run(&["audit", "--since", "tomorrow-ish"]);
    assert_eq!(wrong.status.code(), Some(2));
}

fn chrono_in_an_hour() -> String {
    (chrono::Utc::now() + chrono::TimeDelta::hours(1)).to_rfc3339()
}

#[test]
fn follow_goes_on_when_more_is_written() {
    let world = World::new();
    let mut following =
        world.command(&["audit", "--follow"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut output = following.stdout.take().unwrap();
    let mut server = world.server(&[]);
    server.bash("echo one").ok();
    let mut seen = String::new();
    until("the command", || {
        let mut buffer = [0; 4096];
        let count = std::io::Read::read(&mut output, &mut buffer).unwrap();
        seen.push_str(&String::from_utf8_lossy(&buffer[..count]));
        seen.contains("$ echo one").then_some(())
    });
    drop(output);
    let ended = until("the end without a reader", || following.try_wait().unwrap());
    assert!(ended.success());
}

#[test]
fn what_was_printed_is_known_by_size_and_digest_only() {
    let world = World::new();
    let mut server = world.server(&[]);
    server.bash("echo hello; echo oops >&2").ok();
    let exit = wait_for(&world, "the exit", is("process_exit"));
    // sha256sum of "hello\n" and "oops\n".
    let hello = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03";
    assert_eq!((&exit["stdout_sha256"], &exit["stdout_bytes"]), (&json!(hello), &json!(6)));
    assert_eq!(exit["stderr_sha256"].as_str().unwrap().len(), 64);
    server.bash("true").ok();
    let silent = wait_for(&world, "the second exit", |line| line["process"] == "c2" && line["event"] == "process_exit");
    assert!(silent.get("stdout_sha256").is_none(), "{silent}");
    // A long output is read later, and no call waits for it.
    server.bash("seq 100000").ok();
    let digest = wait_for(&world, "the digest", is("digest"));
    let seq = "b2bc7d3f8b652d2ec96865b68ad8f80e22cca174abe1aed7889e242a747d590f";
    assert_eq!((&digest["process"], &digest["stdout_sha256"]), (&json!("c3"), &json!(seq)));
    let text = std::fs::read_to_string(path(&world)).unwrap();
    assert!(!text.contains("oops\\n") && !text.contains("99999"), "{text}");
}

#[test]
fn a_call_of_a_tool_that_does_not_exist_is_told() {
    let world = World::new();
    let mut server = world.server(&[]);
    let refused = server.start("rm_everything", json!({"path": "/"}));
    until("the answer", || refused.answered());
    let call = wait_for(&world, "the call", |line| line["event"] == "call" && line["tool"] == "rm_everything");
    assert_eq!((&call["arguments"]["path"], &call["client"]), (&json!("/"), &json!("test 1")));
    let result = wait_for(&world, "the result", |line| line["event"] == "result" && line["tool"] == "rm_everything");
    assert_eq!(result["error"], "there is no such tool");
}

/// As with a full disk: nothing can be written for a while, calls go on, and the gap is told afterwards.
#[test]
fn a_gap_in_the_log_is_told() {
    let world = World::new();
    let mut server = world.server(&[]);
    server.bash("echo before").ok();
    wait_for(&world, "the first call", is("result"));
    let (log, kept) = (path(&world), world.home().join("kept"));
    std::fs::rename(&log, &kept).unwrap();
    std::fs::create_dir(&log).unwrap();
    server.bash("echo meanwhile").ok();
    until("the warning", || server.log().contains("the audit log cannot be written").then_some(()));
    std::fs::remove_dir(&log).unwrap();
    std::fs::rename(&kept, &log).unwrap();
    server.bash("echo after").ok();
    let lost = wait_for(&world, "the gap", is("lost"));
    assert!(lost["events"].as_u64().unwrap() >= 1, "{lost}");
    wait_for(&world, "the last call", |line| line["arguments"]["command"] == "echo after");
    let shown = String::from_utf8(world.run(&["audit"]).stdout).unwrap();
    assert!(shown.contains("events could not be written here"), "{shown}");
    assert_eq!(server.log().matches("the audit log cannot be written").count(), 1, "{}", server.log());
    assert!(world.run(&["audit", "verify"]).status.success(), "a gap that is told is no tampering");
}
