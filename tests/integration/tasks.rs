//! Background tasks: ids, limits, reading, waiting, input, endings.

use std::net::TcpListener;

use serde_json::{Value, json};

use crate::support::{Client, World, descendants, nap, text, until, with_enough_time, with_word};

fn background(server: &mut Client, command: &str) -> String {
    let reply = server.call("bash", json!({"command": command, "run_in_background": true})).ok();
    let id = reply.lines().next().unwrap().strip_prefix("task_id: ").unwrap().to_owned();
    assert!(reply.starts_with(&format!("task_id: {id}\nCommand started in background.")), "{reply}");
    id
}

fn read(server: &mut Client, id: &str, arguments: Value) -> String {
    let mut all = json!({"task_id": id});
    all.as_object_mut().unwrap().extend(arguments.as_object().unwrap().clone());
    server.call("task_output", all).ok()
}

/// Some adapters start a server for every call, so an id of the one before is unknown.
#[test]
fn a_server_that_has_just_started_says_so_about_an_unknown_id() {
    let world = World::new();
    let mut server = world.server(&[]);
    let error = server.call("task_output", json!({"task_id": "o1"})).err();
    assert!(error.starts_with("task not found: o1") && error.contains("has just started"), "{error}");
    let id = server.call("bash", json!({"command": "true", "run_in_background": true})).field("task_id").unwrap();
    server.call("task_output", json!({"task_id": id, "wait_ms": 10_000})).ok();
    let error = server.call("task_output", json!({"task_id": id})).err();
    assert!(error.contains("forgotten once it is read") && !error.contains("just started"), "{error}");
}

#[test]
fn a_task_runs_is_read_and_is_forgotten_with_its_first_completed_read() {
    let world = World::new();
    let mut server = world.server(&[]);
    let id = background(&mut server, "echo early; until [ -e go ]; do sleep 0.01; done; echo late; exit 3");
    assert_eq!(id, "t1");
    until("its first output", || read(&mut server, &id, json!({})).contains("early").then_some(()));
    assert_eq!(read(&mut server, &id, json!({})), "status: running\n\nstdout:\nearly\n");
    world.file("go", "");
    let done = read(&mut server, &id, json!({"wait_ms": 30000}));
    assert_eq!(done, "status: completed\nexit_code: 3\n\nstdout:\nearly\nlate\n");
    assert!(server.call("task_output", json!({"task_id": id})).err().starts_with("task not found: t1"));
}

#[test]
fn a_read_with_new_shows_only_output_since_the_last_read() {
    let world = World::new();
    let mut server = world.server(&[]);
    let id = background(&mut server, "echo one; until [ -e go ]; do sleep 0.01; done; echo two; echo err >&2");
    let first = read(&mut server, &id, json!({"new": true, "wait_for": "one", "wait_ms": 30000}));
    assert_eq!(first, "status: running\nwait_ended: the pattern matched\n\nstdout:\none\n");
    assert_eq!(read(&mut server, &id, json!({"new": true})), "status: running\n");
    world.file("go", "");
    let last = read(&mut server, &id, json!({"new": true, "wait_ms": 30000}));
    assert_eq!(last, "status: completed\nexit_code: 0\n\nstderr:\nerr\n\nstdout:\ntwo\n");
}

#[test]
fn the_eleventh_running_task_is_refused_and_never_started() {
    let world = World::new();
    let mut server = world.server(&[]);
    let ids: Vec<String> = (0..10).map(|_| background(&mut server, "sleep 1000")).collect();
    let error = server.call("bash", json!({"command": "touch eleven", "run_in_background": true})).err();
    assert!(error.starts_with("maximum concurrent background task limit (10) reached"), "{error}");
    assert!(error.contains(&ids.join(", ")), "{error}");
    let pty = server.call("bash", json!({"command": "touch eleven", "pty": true})).err();
    assert!(pty.starts_with("maximum concurrent background task limit (10) reached"), "{pty}");
    assert!(!world.project().join("eleven").exists());
    server.call("task_stop", json!({"task_id": "t1"})).ok();
    background(&mut server, "true");
    let other = server.call("bash", json!({"command": "true", "run_in_background": true, "session": "other"}));
    assert!(other.ok().starts_with("task_id: t12\n"), "another session has its own limit");
}

#[test]
fn a_task_has_its_own_cwd_and_variables_and_never_moves_the_session() {
    let world = World::new();
    std::fs::create_dir(world.project().join("sub")).unwrap();
    let mut server = world.server(&[]);
    server.bash("export V=before").ok();
    let id = background(&mut server, "until [ -e go ]; do sleep 0.01; done; echo \"$PWD $V\"; cd sub; export V=task");
    server.bash("cd /; export V=after").ok();
    world.file("go", "");
    let done = read(&mut server, &id, json!({"wait_ms": 30000}));
    assert!(done.contains(&format!("\nstdout:\n{} before\n", text(&world.project()))), "{done}");
    assert_eq!(server.bash("echo $PWD $V").stdout(), "/ after\n");
}

#[test]
fn a_finished_task_announces_itself_once() {
    let world = World::new();
    let mut server = world.server(&[]);
    let id = background(&mut server, "exit 7");
    let line = format!("[task {id} has ended with exit code 7: read it with task_output]\n");
    let announced = until("the announcement", || Some(server.bash("true").ok()).filter(|text| text.contains(&line)));
    assert_eq!(announced, format!("exit_code: 0\n{line}"));
    assert_eq!(server.bash("true").ok(), "exit_code: 0\n");
    assert!(read(&mut server, &id, json!({})).starts_with("status: completed\nexit_code: 7\n"));
}

#[test]
fn waiting_ends_with_the_pattern_the_port_the_end_or_the_time() {
    let world = World::new();
    let mut server = world.server(&[]);
    let id = background(
        &mut server,
        "echo starting; until [ -e go ]; do sleep 0.01; done; printf '\\033[32mready\\033[0m on 1\\n'; sleep 1000",
    );
    let up = read(&mut server, &id, json!({"wait_for": "^never$", "wait_ms": 300}));
    assert!(up.starts_with("status: running\nwait_ended: the time is up\n"), "{up}");
    world.file("go", "");
    let ready = read(&mut server, &id, json!({"wait_for": "^ready on \\d+$", "wait_ms": 30000}));
    assert!(ready.starts_with("status: running\nwait_ended: the pattern matched\n"), "{ready}");
    let again = read(&mut server, &id, json!({"wait_for": "ready", "wait_ms": 300}));
    assert!(again.contains("the time is up"), "what was read is not new: {again}");

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let open = read(&mut server, &id, json!({"wait_for": format!("port:{port}"), "wait_ms": 30000}));
    assert!(open.contains("wait_ended: the port accepts connections\n"), "{open}");

    let short = background(&mut server, "exit 4");
    let ended = read(&mut server, &short, json!({"wait_for": "never", "wait_ms": 30000}));
    assert!(ended.starts_with("status: completed\nexit_code: 4\nwait_ended: the task ended\n"), "{ended}");
    for bad in ["port:x", "port:0", "("] {
        server.call("task_output", json!({"task_id": id, "wait_for": bad})).err();
    }
}

#[test]
fn a_task_that_waits_for_input_is_recognised_and_can_be_answered() {
    let world = World::new();
    let mut server = world.server(&[]);
    let id = background(&mut server, "echo 'Continue? [y/N]'; read answer; echo \"got $answer\"; cat; echo over");
    let asked = read(&mut server, &id, json!({"wait_ms": 60000}));
    assert!(asked.contains("waiting_for_input: \"Continue? [y/N]\"\n"), "{asked}");
    assert!(asked.contains("task_input") && asked.contains("task_stop"), "{asked}");
    let answered = server.call("task_input", json!({"task_id": id, "text": "y\n", "wait_ms": 30000})).ok();
    assert!(answered.contains("\nstdout:\ngot y\n"), "{answered}");
    server.call("task_input", json!({"task_id": id, "keys": ["C-d"]})).ok();
    let done = read(&mut server, &id, json!({"wait_ms": 30000}));
    assert!(done.starts_with("status: completed\nexit_code: 0\n") && done.ends_with("over\n"), "{done}");
}

#[test]
fn a_busy_or_sleeping_task_does_not_count_as_waiting_for_input() {
    let world = World::new();
    let mut server = world.server(&[]);
    for command in ["sleep 1000", "while :; do :; done", "sleep 1000 </dev/null | cat"] {
        let id = background(&mut server, command);
        let seen = read(&mut server, &id, json!({"wait_ms": 2500}));
        assert!(!seen.contains("waiting_for_input"), "{command}: {seen}");
        server.call("task_stop", json!({"task_id": id, "signal": "KILL"})).ok();
    }
}

#[test]
fn on_timeout_the_command_goes_on_with_nothing_lost_or_repeated() {
    let world = World::new();
    let mut server = world.server(&[]);
    let command = "echo $$; echo one; until [ -e go ]; do sleep 0.01; done; echo two; echo $$; cd /";
    let (id, pid) = with_enough_time(|timeout| {
        let call = json!({"command": command, "timeout": timeout, "on_timeout": "background"});
        let reply = server.call("bash", call).ok();
        let id = reply.lines().find_map(|line| line.strip_prefix("task_id: "))?.to_owned();
        let pid = reply.split_once("\nstdout:\n")?.1.strip_suffix("\none\n")?.to_owned();
        let head = format!("Command still running after {timeout}ms\n\ntask_id: {id}\n");
        assert_eq!(reply, format!("{head}\nstdout:\n{pid}\none\n"));
        Some((id, pid))
    });
    world.file("go", "");
    let done = read(&mut server, &id, json!({"wait_ms": 30000, "new": true}));
    assert_eq!(done, format!("status: completed\nexit_code: 0\n\nstdout:\ntwo\n{pid}\n"));
    assert!(server.bash("pwd").stdout().starts_with(&format!("{}\n", text(&world.project()))));
}

#[test]
fn on_timeout_at_the_task_limit_the_command_is_ended_and_the_text_says_so() {
    let world = World::new();
    let mut server = world.server(&[]);
    for _ in 0..10 {
        background(&mut server, "sleep 1000");
    }
    let nap = nap();
    let command = format!("echo begun; : > begun; sleep {nap}");
    with_enough_time(|timeout| {
        let call = json!({"command": command, "timeout": timeout, "on_timeout": "background"});
        let reply = server.call("bash", call).ok();
        assert!(with_word(&nap).is_empty());
        let limit = "maximum concurrent background task limit (10) reached";
        let head = format!("Command timed out after {timeout}ms and was ended: {limit}\n\n");
        let begun = world.project().join("begun").exists();
        begun.then(|| assert_eq!(reply, format!("{head}exit_code: 143\n\nstdout:\nbegun\n")))
    });
}

#[test]
fn a_task_may_have_a_time_limit() {
    let world = World::new();
    let mut server = world.server(&["--background-timeout", "1"]);
    let by_flag = background(&mut server, "sleep 1000");
    let by_call = server.call("bash", json!({"command": "sleep 1000", "run_in_background": true, "timeout": 300})).ok();
    assert!(by_call.starts_with("task_id: t2\n"));
    for id in [by_flag.as_str(), "t2"] {
        let done = read(&mut server, id, json!({"wait_ms": 30000}));
        assert!(done.starts_with("status: completed\nexit_code: 143\n"), "{done}");
    }
}

#[test]
fn stop_ends_the_whole_tree_with_the_chosen_signal() {
    let world = World::new();
    let mut server = world.server(&[]);
    let (a, b) = (nap(), nap());
    let id = background(&mut server, &format!("setsid sleep {a} & echo begun; sleep {b}"));
    until("it to run", || (!with_word(&a).is_empty() && !with_word(&b).is_empty()).then_some(()));
    let stopped = server.call("task_stop", json!({"task_id": id})).ok();
    // If `sleep` dies before bash takes its own signal, bash has time to say "Terminated".
    assert!(stopped.starts_with(&format!("task_id: {id}\nstatus: completed\nexit_code: 143\n")), "{stopped}");
    assert!(stopped.ends_with("\n\nstdout:\nbegun\n"), "{stopped}");
    assert!(with_word(&a).is_empty() && with_word(&b).is_empty());

    let trapping = background(&mut server, "trap 'echo caught; exit 5' INT; echo set; while :; do sleep 0.01; done");
    read(&mut server, &trapping, json!({"wait_for": "set", "wait_ms": 30000}));
    let stopped = server.call("task_stop", json!({"task_id": trapping, "signal": "SIGINT"})).ok();
    assert_eq!(stopped, format!("task_id: {trapping}\nstatus: completed\nexit_code: 5\n\nstdout:\ncaught\n"));
    assert!(server.call("task_stop", json!({"task_id": "t9"})).err().starts_with("task not found: t9"));
    assert!(server.call("task_stop", json!({"task_id": id, "signal": "NOPE"})).err().contains("unknown signal"));
}

#[test]
fn long_output_of_a_completed_task_stays_readable_by_its_output_id() {
    let world = World::new();
    let mut server = world.server(&[]);
    let id = background(&mut server, "seq -f 'row-%.0f' 1 20000");
    let done = read(&mut server, &id, json!({"wait_ms": 30000}));
    assert!(
        done.contains("[Truncated: output was ") && done.contains("task_id=\"o1\""),
        "{}",
        &done[done.len() - 300..]
    );
    assert!(read(&mut server, "o1", json!({"grep": "row-19999$"})).ends_with("\nstdout:\nrow-19999\n"));

    let paged = background(&mut server, "seq -f 'line-%.0f' 1 100");
    let tail = read(&mut server, &paged, json!({"wait_ms": 30000, "tail": 1}));
    assert!(tail.contains("lines: 100-100 of 100\n\nstdout:\nline-100\n") && tail.contains("task_id=\"o2\""), "{tail}");
    assert!(read(&mut server, "o2", json!({"from_line": 5, "max_lines": 1})).ends_with("\nstdout:\nline-5\n"));
}

#[test]
fn input_that_cannot_be_given_is_refused_clearly() {
    let world = World::new();
    let mut server = world.server(&[]);
    let given =
        server.call("bash", json!({"command": "cat; sleep 1000", "run_in_background": true, "stdin": "x"})).ok();
    let id = given.lines().next().unwrap().strip_prefix("task_id: ").unwrap().to_owned();
    assert!(server.call("task_input", json!({"task_id": id, "text": "y"})).err().contains("no open stdin"));
    assert!(server.call("task_input", json!({"task_id": id})).err().contains("nothing to type"));
    let keys = server.call("task_input", json!({"task_id": id, "keys": ["Entr"]})).err();
    assert!(keys.contains("unknown key \"Entr\""), "{keys}");
    let ended = background(&mut server, "true");
    until("its end", || server.bash("true").ok().contains("has ended").then_some(()));
    assert!(server.call("task_input", json!({"task_id": ended, "text": "x"})).err().contains("has ended"));
}

/// The number of descriptors and of processes of a server at rest. Its only reaper then watches the shell that waits for
/// the next command.
fn at_rest(server: &mut Client) -> (usize, usize) {
    server.bash("true").ok();
    let waits = |pid: &u32| {
        std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim() == "testudo-reaper")
    };
    until("the next shell to wait", || {
        (descendants(server.pid()).iter().filter(|pid| waits(pid)).count() == 1).then_some(())
    });
    let descriptors = std::fs::read_dir(format!("/proc/{}/fd", server.pid())).unwrap().count();
    (descriptors, descendants(server.pid()).len())
}

#[test]
fn a_thousand_tasks_leave_no_process_and_no_descriptor() {
    let world = World::new();
    let mut server = world.server(&[]);
    let before = at_rest(&mut server);
    for round in 0..100 {
        let ids: Vec<String> = (0..10).map(|index| background(&mut server, &format!("echo {round}-{index}"))).collect();
        for (index, id) in ids.iter().enumerate() {
            let done = read(&mut server, id, json!({"wait_ms": 30000}));
            assert!(done.contains(&format!("\nstdout:\n{round}-{index}\n")), "{done}");
        }
    }
    // The server may open or close a few descriptors while the test counts; a leak would be hundreds.
    until("everything to be as before", || {
        let after = at_rest(&mut server);
        (after.0.abs_diff(before.0) <= 4 && after.1.abs_diff(before.1) <= 2).then_some(())
    });
}
