//! Nothing is left behind, however the server is started and ended: killed together with all its helpers, as the first
//! process of a container, in a pid namespace whose `/proc` is another's.

use std::process::Command;

use serde_json::json;

use crate::support::{Client, StartOptions, World, alive, descendants, everywhere, nap, until, with_word};

fn name(pid: u32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim().to_owned()
}

fn kill(pids: &[u32]) {
    let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
    Command::new("kill").arg("-KILL").args(pids).status().unwrap();
}

/// Starts processes that try to outlive everything, and kills the server and all that bear its name in one go.
fn kill_all_by_name(server: &mut Client) {
    let naps = [nap(), nap(), nap()];
    let [a, b, c] = &naps;
    let command = format!("setsid sleep {a} & (setsid sh -c 'sleep {b} & sleep {b}' &); sleep {c}");
    server.start("bash", json!({ "command": command }));
    until("all to run", || naps.iter().all(|nap| !with_word(nap).is_empty()).then_some(()));
    let below = descendants(server.pid());
    let mut named: Vec<u32> = below.iter().copied().filter(|pid| name(*pid).starts_with("testudo")).collect();
    assert!(named.len() >= 3, "guard, keeper and reapers");
    named.insert(0, server.pid());
    kill(&named);
    until("all to be gone", || naps.iter().all(|nap| with_word(nap).is_empty()).then_some(()));
    until("helpers to be gone", || below.iter().all(|pid| !alive(*pid)).then_some(()));
}

#[test]
fn killing_everything_of_that_name_at_once_leaves_nothing() {
    for _ in 0..5 {
        everywhere("", &[], |inside| kill_all_by_name(&mut inside.client));
        kill_all_by_name(&mut World::new().server(&["--sandbox", "off"]));
    }
}

#[test]
fn a_server_waits_for_its_guards() {
    everywhere("", &[], |inside| {
        inside.does("sleep 1000 &");
        let below = descendants(inside.client.pid());
        assert!(!below.is_empty());
        inside.client.hang_up();
        inside.client.wait_for_exit();
        let left: Vec<String> = below.into_iter().filter(|pid| alive(*pid)).map(name).collect();
        assert_eq!(left, Vec::<String>::new(), "nothing outlives the server, so nobody else has to reap it");
    });
}

/// A server in namespaces of its own, and its pid out here.
fn in_namespaces(world: &World, words: &[&str]) -> (Client, u32) {
    let server = Client::connect(world.command_by(words, &["--sandbox", "off"]), StartOptions::default());
    let pid = until("the server", || descendants(server.pid()).into_iter().find(|pid| name(*pid) == "testudo"));
    (server, pid)
}

#[test]
fn as_the_first_process_it_reaps_strangers() {
    let world = World::new();
    let (mut server, pid) =
        in_namespaces(&world, &["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]);
    let target = pid.to_string();
    let enter = ["--target", target.as_str(), "--user", "--pid", "--mount", "--preserve-credentials", "sh", "-c"];
    let (orphan, word) = ("sleep 0.1 & sleep 0.1 & exit", nap());
    for _ in 0..3 {
        assert!(Command::new("nsenter").args(enter).arg(orphan).status().unwrap().success());
    }
    server.bash(&format!("sleep {word} &")).ok();
    let is_zombie = |pid: &u32| std::path::Path::new(&format!("/proc/{pid}")).exists() && !alive(*pid);
    until("no orphan and no zombie to be left", || {
        let below = descendants(pid);
        let sleeping = below.iter().any(|pid| name(*pid) == "sleep" && !with_word(&word).contains(pid));
        (!sleeping && !below.iter().any(is_zombie)).then_some(())
    });
    assert_eq!(server.bash("echo alive").stdout(), "alive\n");
}

#[test]
fn with_the_proc_of_an_outer_namespace_commands_are_found_and_ended() {
    let world = World::new();
    let words = ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork"];
    let (mut server, _) = in_namespaces(&world, &words);
    let (word, left) = (nap(), nap());
    // The first child has left the process group, so only the tree of processes leads to it.
    let command = format!("setsid sleep {left} & echo $!; sleep {word}");
    let text = server.call("bash", json!({ "command": command, "timeout": 1500 })).ok();
    assert!(text.contains("timed out") && text.contains("exit_code: 143"), "ended by TERM, not by KILL later: {text}");
    assert!(with_word(&word).is_empty() && with_word(&left).is_empty());
    let reply = server.bash(&format!("sleep {left} & echo $!"));
    assert_eq!(reply.field("background_pids"), Some(reply.stdout().trim().to_owned()), "pids are those of the session");
    server.hang_up();
    server.wait_for_exit();
    assert!(with_word(&left).is_empty());
}
