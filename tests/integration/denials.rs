//! A denial by the sandbox is explained on the result of the refused command, whichever tool ran it, and on no other
//! result.

use serde_json::{Value, json};

use crate::support::{Client, Reply, StartOptions, World, text, until, with_enough_time};

/// A file that no command can write: it lies outside the project.
fn forbidden(world: &World, name: &str) -> String {
    text(&world.outside().join(name))
}

/// How the explanation for that file begins.
fn explanation(path: &str) -> String {
    format!("[sandbox: {path} is outside what commands can write")
}

fn all_tools(world: &World) -> Client {
    let mut command = world.command(&["--toolset", "all"]);
    command.env("ALLOWED_COMMANDS", "*");
    Client::connect(command, StartOptions::default())
}

/// Fails unless the last line, and no other, explains the denial of that file.
#[track_caller]
fn assert_explained(text: &str, path: &str) {
    assert_eq!(text.matches("[sandbox: ").count(), 1, "{text}");
    let last = text.lines().last().unwrap_or_default();
    assert!(last.starts_with(&explanation(path)) && last.ends_with(']'), "{text}");
}

#[track_caller]
fn assert_unexplained(reply: &Reply) {
    assert!(!reply.text().contains("[sandbox: "), "not the result of the refused command: {}", reply.text());
}

#[test]
fn bash_explains_a_denial_on_its_own_result() {
    let world = World::new();
    let mut server = all_tools(&world);
    let path = forbidden(&world, "new");
    let reply = server.bash(&format!("touch {path}"));
    assert_eq!(reply.field("exit_code").as_deref(), Some("1"));
    assert_explained(&reply.ok(), &path);
    assert_unexplained(&server.bash("true"));
}

#[test]
fn execute_command_explains_a_denial_after_its_yaml() {
    let world = World::new();
    let mut server = all_tools(&world);
    let path = forbidden(&world, "new");
    let text = server.call("execute_command", json!({ "command": format!("touch {path}") })).ok();
    assert_explained(&text, &path);
    let (document, _) = text.split_once("[sandbox: ").unwrap();
    let yaml: Value = serde_saphyr::from_str(document).unwrap();
    assert_eq!(yaml["exit_code"], 1, "{text}");
    assert!(yaml["stderr"].as_str().unwrap().contains(&path), "{text}");
    assert_unexplained(&server.call("execute_command", json!({"command": "true"})));
}

#[test]
fn run_shell_command_explains_a_denial_in_a_block_after_its_json() {
    let world = World::new();
    let mut server = all_tools(&world);
    let path = forbidden(&world, "new");
    let reply = server.call("run_shell_command", json!({ "command": format!("touch {path}") }));
    assert!(!reply.is_error(), "{reply:?}");
    let blocks = reply.raw["content"].as_array().unwrap();
    let outcome: Value = serde_json::from_str(blocks[0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(outcome["exitCode"], 1, "{reply:?}");
    assert_eq!(blocks.len(), 2, "{reply:?}");
    assert_explained(blocks[1]["text"].as_str().unwrap(), &path);
    let next = server.call("run_shell_command", json!({"command": "true"}));
    assert_eq!(next.raw["content"].as_array().unwrap().len(), 1, "{next:?}");
    assert_unexplained(&next);
}

#[test]
fn a_task_explains_a_denial_on_the_read_that_shows_its_end() {
    let world = World::new();
    let mut server = all_tools(&world);
    let path = forbidden(&world, "new");
    for pty in [false, true] {
        for read in [json!({}), json!({"new": true}), json!({"tail": 5})] {
            let command = format!("touch {path}");
            let started = server.call("bash", json!({"command": command, "run_in_background": true, "pty": pty}));
            assert_unexplained(&started);
            let id = started.ok().lines().next().unwrap().strip_prefix("task_id: ").unwrap().to_owned();
            // A call that is answered after the task's end announces it, and is not the place to explain it.
            until("the announcement of its end", || {
                let other = server.bash("true");
                assert_unexplained(&other);
                other.ok().contains("has ended with exit code 1").then_some(())
            });
            let mut arguments = read.clone();
            arguments["task_id"] = json!(id);
            let shown = server.call("task_output", arguments).ok();
            assert!(shown.starts_with("status: completed\nexit_code: 1\n"), "{shown}");
            assert_explained(&shown, &path);
            assert_unexplained(&server.bash("true"));
        }
    }
}

#[test]
fn a_command_that_goes_on_after_its_timeout_explains_a_denial_at_its_end() {
    let world = World::new();
    let mut server = all_tools(&world);
    let path = forbidden(&world, "new");
    let command = format!("until [ -e go ]; do sleep 0.01; done; touch {path}");
    let call = json!({"command": command, "timeout": 100, "on_timeout": "background"});
    let handed_over = server.call("bash", call);
    assert_unexplained(&handed_over);
    assert!(handed_over.ok().contains("\ntask_id: t1\n"), "{handed_over:?}");
    world.file("go", "");
    let shown = server.call("task_output", json!({"task_id": "t1", "wait_ms": 60000})).ok();
    assert!(shown.starts_with("status: completed\nexit_code: 1\n"), "{shown}");
    assert_explained(&shown, &path);
    assert_unexplained(&server.bash("true"));
}

/// The message is longer than a line of the screen.
#[test]
fn a_terminal_explains_a_denial_below_its_screen() {
    let world = World::new();
    let mut server = all_tools(&world);
    let path = forbidden(&world, &"n".repeat(80));
    let call = json!({"command": format!("touch {path}"), "pty": true, "timeout": 60000});
    let shown = server.call("bash", call).ok();
    assert!(shown.contains("\nstatus: completed\nexit_code: 1\nscreen:\n"), "{shown}");
    assert_explained(&shown, &path);
    assert_unexplained(&server.bash("true"));
}

#[test]
fn a_command_that_is_ended_explains_a_denial_too() {
    let world = World::new();
    let mut server = all_tools(&world);
    let path = forbidden(&world, "new");
    let call = |timeout: u64| json!({"command": format!("touch {path}; : > begun; sleep 1000"), "timeout": timeout});
    let ended = with_enough_time(|timeout| {
        let ended = server.call("bash", call(timeout));
        world.project().join("begun").exists().then_some(ended)
    });
    assert!(ended.ok().starts_with("Command timed out after "), "{ended:?}");
    assert_explained(&ended.ok(), &path);
    assert_unexplained(&server.bash("true"));
}

#[test]
fn a_result_that_is_an_error_explains_a_denial_too() {
    let world = World::new();
    let mut server = all_tools(&world);
    let path = forbidden(&world, "new");
    let command = format!("sh -c 'touch {path}; : > begun; sleep 1000'");
    let error = with_enough_time(|timeout| {
        let call = json!({"command": command, "timeout_ms": timeout});
        let error = server.call("execute_command", call).err();
        world.project().join("begun").exists().then_some(error)
    });
    assert!(error.starts_with("exit_code: 124\n") && error.contains("Timed out after "), "{error}");
    assert_explained(&error, &path);
    assert_unexplained(&server.call("execute_command", json!({"command": "true"})));
    assert_unexplained(&server.bash("true"));
}

/// Calls of one session and of two, all under way at once.
#[test]
fn calls_at_the_same_time_get_their_own_explanations_only() {
    let world = World::new();
    let mut server = all_tools(&world);
    let calls: Vec<_> = (0..20)
        .map(|index| {
            let path = forbidden(&world, &format!("file-{index}-"));
            let session = ["one", "two"][index % 2];
            let refused = server.start("bash", json!({"command": format!("touch {path}"), "session": session}));
            let words = server.start("execute_command", json!({ "command": format!("touch {path}words") }));
            let fine = server.start("bash", json!({"command": "true", "session": session}));
            (path, refused, words, fine)
        })
        .collect();
    for (path, refused, words, fine) in calls {
        assert_explained(&refused.reply().ok(), &path);
        assert_explained(&words.reply().ok(), &format!("{path}words"));
        assert_unexplained(&fine.reply());
    }
}

#[test]
fn a_session_does_not_get_the_explanation_of_another_sessions_task() {
    let world = World::new();
    let mut server = all_tools(&world);
    let paths = ["one", "two"].map(|session| (session, forbidden(&world, session)));
    for (session, path) in &paths {
        let call = json!({"command": format!("touch {path}"), "run_in_background": true, "session": session});
        server.call("bash", call).ok();
    }
    for (session, _) in &paths {
        until("the announcement of its end", || {
            let other = server.call("bash", json!({"command": "true", "session": session}));
            assert_unexplained(&other);
            other.ok().contains("has ended with exit code 1").then_some(())
        });
    }
    for ((session, path), id) in paths.iter().zip(["t1", "t2"]) {
        let call = json!({"task_id": id, "session": session});
        assert_explained(&server.call("task_output", call).ok(), path);
    }
}
