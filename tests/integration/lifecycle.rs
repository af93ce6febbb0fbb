//! Nothing is left behind: timeout, cancel, hang-up, crash of the server, of the keeper, of a reaper.

use serde_json::json;

use crate::support::{Client, World, alive, descendants, nap, until, with_word};

/// A command whose children try to get away: a session of their own, a double fork, a plain background child.
fn escapees() -> (String, [String; 4]) {
    let naps = [nap(), nap(), nap(), nap()];
    let [a, b, c, d] = &naps;
    let command = format!(
        "setsid sleep {a} >/dev/null 2>&1 & (setsid sh -c 'sleep {b} & sleep {b}' >/dev/null 2>&1 &); sleep {c} & sleep {d}"
    );
    (command, naps)
}

fn wait_until_running(naps: &[String]) {
    until("all of them to run", || naps.iter().all(|nap| !with_word(nap).is_empty()).then_some(()));
}

fn wait_until_gone(naps: &[String]) {
    until("none of them to be left", || naps.iter().all(|nap| with_word(nap).is_empty()).then_some(()));
}

/// The processes between the server and its commands, by the name `ps` shows.
fn roles(server: &Client, name: &str) -> Vec<u32> {
    let named = |pid: &u32| std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim() == name);
    descendants(server.pid()).into_iter().filter(named).collect()
}

fn kill(pid: u32, signal: &str) {
    let status = std::process::Command::new("kill").args([signal, &pid.to_string()]).status().unwrap();
    assert!(status.success());
}

#[test]
fn a_timeout_ends_the_whole_tree() {
    let world = World::new();
    let mut server = world.server(&[]);
    let (command, naps) = escapees();
    let text = server.call("bash", json!({"command": command, "timeout": 700})).ok();
    assert!(text.starts_with("Command timed out after 700ms\n\nexit_code: 143\n"), "{text}");
    assert!(naps.iter().all(|nap| with_word(nap).is_empty()), "they are gone when the answer comes");
}

#[test]
fn what_ignores_term_is_killed_and_its_partial_output_returned() {
    let world = World::new();
    let mut server = world.server(&[]);
    let command = "trap '' TERM; echo begun; echo warned >&2; while :; do sleep 0.05; done";
    let text = server.call("bash", json!({"command": command, "timeout": 300})).ok();
    assert_eq!(text, "Command timed out after 300ms\n\nexit_code: 137\n\nstderr:\nwarned\n\nstdout:\nbegun\n");
}

#[test]
fn a_stopped_process_is_ended_too() {
    let world = World::new();
    let mut server = world.server(&[]);
    let text = server.call("bash", json!({"command": "kill -STOP $$", "timeout": 300})).ok();
    assert!(text.starts_with("Command timed out after 300ms\n\nexit_code: 143\n"), "{text}");
}

#[test]
fn cancel_ends_the_whole_tree_and_no_result_comes() {
    let world = World::new();
    let mut server = world.server(&[]);
    let (command, naps) = escapees();
    let pending = server.start("bash", json!({"command": command}));
    wait_until_running(&naps);
    server.cancel(&pending);
    wait_until_gone(&naps);
    assert_eq!(server.bash("echo still here").stdout(), "still here\n");
    assert!(pending.answered().is_none_or(|answer| answer.get("error").is_some()));
}

#[test]
fn hanging_up_ends_everything_and_the_server() {
    let world = World::new();
    let mut server = world.server(&[]);
    let (command, naps) = escapees();
    server.start("bash", json!({"command": command}));
    let background = nap();
    server.start("bash", json!({"command": format!("setsid sleep {background} &"), "session": "other"}));
    wait_until_running(&naps);
    wait_until_running(std::slice::from_ref(&background));
    let below = descendants(server.pid());
    server.hang_up();
    assert!(server.wait_for_exit().success());
    wait_until_gone(&naps);
    wait_until_gone(&[background]);
    until("keeper and guard to go", || below.iter().all(|pid| !alive(*pid)).then_some(()));
}

#[test]
fn a_signal_to_the_server_ends_everything() {
    for signal in ["-TERM", "-INT"] {
        let world = World::new();
        let mut server = world.server(&[]);
        let (command, naps) = escapees();
        server.start("bash", json!({"command": command}));
        wait_until_running(&naps);
        kill(server.pid(), signal);
        server.wait_for_exit();
        wait_until_gone(&naps);
    }
}

#[test]
fn a_killed_server_leaves_nothing_behind() {
    let world = World::new();
    let mut server = world.server(&[]);
    let (command, naps) = escapees();
    server.start("bash", json!({"command": command}));
    wait_until_running(&naps);
    let below = descendants(server.pid());
    server.kill();
    wait_until_gone(&naps);
    until("keeper and guard to go", || below.iter().all(|pid| !alive(*pid)).then_some(()));
}

#[test]
fn a_killed_keeper_or_guard_is_a_clear_error_and_not_a_dead_session() {
    for role in ["testudo-keeper", "testudo-guard"] {
        let world = World::new();
        std::fs::create_dir(world.project().join("sub")).unwrap();
        let mut server = world.server(&[]);
        server.bash("cd sub; export V=1").ok();
        let (command, naps) = escapees();
        let pending = server.start("bash", json!({"command": command}));
        wait_until_running(&naps);
        let victims = roles(&server, role);
        assert_eq!(victims.len(), 1, "{role}");
        kill(victims[0], "-KILL");
        let error = pending.reply().err();
        assert!(error.contains("killed") || error.contains("died"), "{role}: {error}");
        wait_until_gone(&naps);
        assert_eq!(server.bash("echo ${PWD##*/} $V").stdout(), "sub 1\n", "{role}");
    }
}

#[test]
fn a_killed_reaper_ends_its_call_and_no_other() {
    let world = World::new();
    let mut server = world.server(&[]);
    let (command, naps) = escapees();
    let first = server.start("bash", json!({"command": command}));
    wait_until_running(&naps);
    let reapers = roles(&server, "testudo-reaper");
    assert_eq!(reapers.len(), 1);
    let second = server
        .start("bash", json!({"command": "echo begun > begun; until [ -e go ]; do sleep 0.01; done; echo whole"}));
    until("the second to begin", || world.project().join("begun").exists().then_some(()));
    kill(reapers[0], "-KILL");
    let error = first.reply().err();
    assert!(error.contains("killed"), "{error}");
    wait_until_gone(&naps);
    world.file("go", "");
    assert_eq!(second.reply().stdout(), "whole\n");
}

#[test]
fn nothing_accumulates_over_many_calls() {
    let world = World::new();
    let mut server = world.server(&[]);
    server.bash("true").ok();
    // Guard, keeper, the next shell and its reaper.
    let at_rest = || roles(&server, "bash").len() == 1 && descendants(server.pid()).len() == 4;
    until("the next shell to wait", || at_rest().then_some(()));
    let descriptors = |pid: u32| std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count();
    let keeper = roles(&server, "testudo-keeper")[0];
    let before = (descriptors(server.pid()), descriptors(keeper));
    for index in 0..300 {
        server.bash(&format!("echo {index} | cat; true & wait")).ok();
    }
    let at_rest = || roles(&server, "bash").len() == 1 && descendants(server.pid()).len() == 4;
    // Handles of the last commands go with the next one.
    let no_more = || descriptors(server.pid()) <= before.0 + 2 && descriptors(keeper) <= before.1;
    until("descriptors and processes to be as before", || (at_rest() && no_more()).then_some(()));
}

#[test]
fn a_session_at_rest_costs_nothing() {
    let world = World::new();
    let mut server = world.server(&[]);
    server.bash("true").ok();
    // The next shell is there already, and waits.
    let count = || {
        let all = roles(&server, "testudo-keeper").into_iter().chain(roles(&server, "testudo-reaper"));
        let waits = all.map(|pid| {
            let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
            line.and_then(|count| count.trim().parse::<u64>().ok())
        });
        waits.collect::<Option<Vec<u64>>>()
    };
    until("all of them to sleep for longer than a keeper that counts would", || {
        let before = count()?;
        std::thread::sleep(std::time::Duration::from_millis(1500));
        (before.len() == 2 && count()? == before).then_some(())
    });
    assert_eq!(server.bash("echo here").stdout(), "here\n");
}
