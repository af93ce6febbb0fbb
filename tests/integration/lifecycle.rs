//! No process is left behind by a timeout, a cancel or a hang-up, nor when the server, a keeper or a reaper crashes.

use serde_json::json;

use crate::support::{Client, Reply, World, alive, descendants, nap, until, with_enough_time, with_word};

/// A command whose children try to outlive it: with a session of their own, by a double fork, in the background. Each
/// child can be found by its argument to `sleep`.
fn escapees() -> (String, [String; 4]) {
    let naps = [nap(), nap(), nap(), nap()];
    let [a, b, c, d] = &naps;
    let command = format!(
        "setsid sleep {a} >/dev/null 2>&1 & (setsid sh -c 'sleep {b} & sleep {b}' >/dev/null 2>&1 &); sleep {c} & sleep {d}"
    );
    (command, naps)
}

fn all_run(naps: &[String]) -> bool {
    naps.iter().all(|nap| !with_word(nap).is_empty())
}

fn all_gone(naps: &[String]) -> bool {
    naps.iter().all(|nap| with_word(nap).is_empty())
}

fn wait_until_running(naps: &[String]) {
    until("all of them to run", || all_run(naps).then_some(()));
}

fn wait_until_gone(naps: &[String]) {
    until("none of them to be left", || all_gone(naps).then_some(()));
}

/// The server's descendants that `ps` shows under this name.
fn roles(server: &Client, name: &str) -> Vec<u32> {
    let named = |pid: &u32| std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim() == name);
    descendants(server.pid()).into_iter().filter(named).collect()
}

/// The only process of that name, once there is exactly one: another may still be ending.
fn only(server: &Client, name: &str) -> u32 {
    until(&format!("exactly one {name}"), || match roles(server, name)[..] {
        [pid] => Some(pid),
        _ => None,
    })
}

fn kill(pid: u32, signal: &str) {
    let status = std::process::Command::new("kill").args([signal, &pid.to_string()]).status().unwrap();
    assert!(status.success());
}

#[test]
fn a_timeout_ends_the_whole_tree() {
    let world = World::new();
    let mut server = world.server(&[]);
    with_enough_time(|timeout| {
        let (command, naps) = escapees();
        let pending = server.start("bash", json!({"command": command, "timeout": timeout}));
        let mut ran = false;
        let answer = until("the answer", || {
            ran |= all_run(&naps);
            pending.answered()
        });
        let gone = all_gone(&naps);
        ran.then(|| {
            let text = Reply { raw: answer["result"].clone() }.ok();
            assert!(text.starts_with(&format!("Command timed out after {timeout}ms\n\nexit_code: 143\n")), "{text}");
            assert!(gone, "they are gone when the answer comes");
        })
    });
}

#[test]
fn a_command_that_ignores_term_is_killed_and_its_partial_output_returned() {
    let world = World::new();
    let mut server = world.server(&[]);
    let command = "trap '' TERM; echo begun; echo warned >&2; : > begun; while :; do sleep 0.05; done";
    with_enough_time(|timeout| {
        let text = server.call("bash", json!({"command": command, "timeout": timeout})).ok();
        let head = format!("Command timed out after {timeout}ms\n\nexit_code: 137\n");
        let begun = world.project().join("begun").exists();
        begun.then(|| assert_eq!(text, format!("{head}\nstderr:\nwarned\n\nstdout:\nbegun\n")))
    });
}

#[test]
fn a_stopped_process_is_ended_too() {
    let world = World::new();
    let mut server = world.server(&[]);
    with_enough_time(|timeout| {
        let call = json!({"command": ": > begun; kill -STOP $$", "timeout": timeout});
        let text = server.call("bash", call).ok();
        let head = format!("Command timed out after {timeout}ms\n\nexit_code: 143\n");
        let begun = world.project().join("begun").exists();
        begun.then(|| assert!(text.starts_with(&head), "{text}"))
    });
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
fn a_killed_keeper_or_guard_is_a_clear_error_and_the_session_goes_on() {
    for role in ["testudo-keeper", "testudo-guard"] {
        let world = World::new();
        std::fs::create_dir(world.project().join("sub")).unwrap();
        let mut server = world.server(&[]);
        server.bash("cd sub; export V=1").ok();
        let (command, naps) = escapees();
        let pending = server.start("bash", json!({"command": command}));
        wait_until_running(&naps);
        kill(only(&server, role), "-KILL");
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
    let reaper = only(&server, "testudo-reaper");
    let second = server
        .start("bash", json!({"command": "echo begun > begun; until [ -e go ]; do sleep 0.01; done; echo whole"}));
    until("the second to begin", || world.project().join("begun").exists().then_some(()));
    kill(reaper, "-KILL");
    let error = first.reply().err();
    assert!(error.contains("killed"), "{error}");
    wait_until_gone(&naps);
    world.file("go", "");
    assert_eq!(second.reply().stdout(), "whole\n");
}

/// The number of processes below a server whose next shell waits, and which runs nothing else.
fn processes_at_rest(server: &Client) -> Option<usize> {
    let one_each = ["bash", "testudo-reaper"].iter().all(|name| roles(server, name).len() == 1);
    one_each.then(|| descendants(server.pid()).len())
}

#[test]
fn nothing_accumulates_over_many_calls() {
    let world = World::new();
    let mut server = world.server(&[]);
    server.bash("true").ok();
    let processes = until("the next shell to wait", || processes_at_rest(&server));
    let descriptors = |pid: u32| std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count();
    let keeper = only(&server, "testudo-keeper");
    let before = (descriptors(server.pid()), descriptors(keeper));
    for index in 0..300 {
        server.bash(&format!("echo {index} | cat; true & wait")).ok();
    }
    // The server closes the handles of its last command when the next one starts.
    let no_more = || descriptors(server.pid()) <= before.0 + 2 && descriptors(keeper) <= before.1;
    until("no more descriptors and processes than before", || {
        let at_rest = processes_at_rest(&server)? <= processes;
        (at_rest && no_more()).then_some(())
    });
}

#[test]
fn a_session_at_rest_costs_nothing() {
    let world = World::new();
    let mut server = world.server(&[]);
    server.bash("true").ok();
    until("the next shell to wait", || processes_at_rest(&server));
    // How often each process has gone to sleep. A process that polls wakes up and goes to sleep again.
    let count = || {
        let all = roles(&server, "testudo-keeper").into_iter().chain(roles(&server, "testudo-reaper"));
        let waits = all.map(|pid| {
            let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
            line.and_then(|count| count.trim().parse::<u64>().ok())
        });
        waits.collect::<Option<Vec<u64>>>()
    };
    until("keeper and reaper to sleep for longer than the time between two looks at memory", || {
        let before = count()?;
        std::thread::sleep(std::time::Duration::from_millis(1500));
        (before.len() >= 2 && count()? == before).then_some(())
    });
    assert_eq!(server.bash("echo here").stdout(), "here\n");
}
