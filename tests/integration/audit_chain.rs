//! The audit log under stress: servers that are killed, several that write at once, rotation, a disk that refuses, and
//! people who change it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::{Value, json};

use crate::support::{Client, StartOptions, User, World, launched, until};

fn state(world: &World) -> PathBuf {
    world.home().join(".local/state/testudo")
}

fn verify(world: &World) -> Output {
    world.run(&["audit", "verify"])
}

#[track_caller]
fn intact(world: &World) -> String {
    let output = verify(world);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn text(world: &World) -> String {
    std::fs::read_to_string(state(world).join("audit.jsonl")).unwrap_or_default()
}

fn configured(world: &World, audit: &str) -> Client {
    let file = world.home().join("config.toml");
    std::fs::write(&file, format!("[audit]\n{audit}\n")).unwrap();
    world.server(&["--config", file.to_str().unwrap()])
}

#[test]
fn no_line_is_corrupt_however_a_server_is_killed() {
    let world = World::new();
    for round in 0..25 {
        let mut server = world.server(&[]);
        server.bash(&format!("echo round {round}")).ok();
        let _pending =
            server.start("bash", json!({"command": format!("echo {}; sleep 60 # {round}.", "x".repeat(20_000))}));
        if round % 2 == 0 {
            until("the call in the log", || text(&world).contains(&format!("sleep 60 # {round}.")).then_some(()));
        }
        server.kill();
        intact(&world);
    }
    // The others were killed before they had written anything.
    let begun = text(&world).lines().filter(|line| line.contains("server_start")).count();
    assert!((13..=25).contains(&begun), "{begun}");
}

#[test]
fn several_servers_write_one_chain() {
    let world = World::new();
    let mut servers: Vec<Client> = (0..3).map(|_| world.server(&[])).collect();
    for call in 0..20 {
        let pending: Vec<_> = servers
            .iter_mut()
            .enumerate()
            .map(|(index, server)| server.start("bash", json!({"command": format!(": {index} {call}")})))
            .collect();
        pending.into_iter().for_each(|call| drop(call.reply().ok()));
    }
    until("every result", || {
        let written = text(&world);
        let count = written.lines().filter(|line| line.contains("\"event\":\"result\"")).count();
        (count == 60).then_some(())
    });
    intact(&world);
}

/// The lines after an orderly end, all of them on disk.
fn finished(world: &World) -> Vec<String> {
    let mut server = world.server(&[]);
    (0..3).for_each(|number| drop(server.bash(&format!("echo {number}")).ok()));
    server.hang_up();
    server.wait_for_exit();
    intact(world);
    text(world).lines().map(str::to_owned).collect()
}

#[test]
fn every_kind_of_tampering_is_found() {
    let world = World::new();
    let lines = finished(&world);
    let file = state(&world).join("audit.jsonl");
    let count = lines.len();
    let with = |change: &dyn Fn(&mut Vec<String>)| {
        let mut changed = lines.clone();
        change(&mut changed);
        std::fs::write(&file, whole(&changed)).unwrap();
        let output = verify(&world);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{message}");
        message
    };
    let changed = with(&|lines| lines[4] = lines[4].replace("\"time\":\"2", "\"time\":\"3"));
    assert!(changed.contains("audit.jsonl:5: "), "{changed}");
    assert!(with(&|lines| drop(lines.remove(4))).contains("audit.jsonl:5: the lines 5 to 5 are missing"));
    assert!(with(&|lines| lines.swap(4, 5)).contains("audit.jsonl:5: "));
    assert!(with(&|lines| lines.insert(4, lines[3].clone())).contains("audit.jsonl:5: "));
    assert!(with(&|lines| lines.insert(4, "{}".to_owned())).contains("audit.jsonl:5: it has no hash"));
    assert!(with(&|lines| lines[4] = "nonsense".to_owned()).contains("audit.jsonl:5: "));
    assert!(with(&|lines| drop(lines.remove(0))).contains("audit.jsonl:1: the lines 1 to 1 are missing"));
    assert!(with(&|lines| lines.truncate(count - 2)).contains("are missing at the end"));
    assert!(with(&Vec::clear).contains("are missing at the end"));
    // A line with a hash that fits it does not fit the next line, and the last line does not fit what is kept beside it.
    for at in [4, count - 1] {
        let forged = with(&|lines| lines[at] = relinked(&lines[at].replace("\"time\":\"2", "\"time\":\"3")));
        let blamed = if at == count - 1 { at + 1 } else { at + 2 };
        assert!(forged.contains(&format!("audit.jsonl:{blamed}: ")), "{forged}");
    }
    std::fs::write(&file, lines.concat()).unwrap();
    assert_eq!(verify(&world).status.code(), Some(1), "no line ends");
    std::fs::remove_file(&file).unwrap();
    assert_eq!(verify(&world).status.code(), Some(1), "the log is gone");
    std::fs::write(&file, whole(&lines)).unwrap();
    intact(&world);
    std::fs::remove_file(state(&world).join("audit.head")).unwrap();
    assert_eq!(verify(&world).status.code(), Some(1), "the head is gone");
}

/// The line with a hash that fits it, as somebody would write it who knows how.
fn relinked(line: &str) -> String {
    use sha2::Digest;
    let (begin, _) = line.rsplit_once(",\"hash\":\"").unwrap();
    let hash = sha2::Sha256::digest(begin).iter().fold(String::new(), |hash, byte| format!("{hash}{byte:02x}"));
    format!("{begin},\"hash\":\"{hash}\"}}")
}

#[test]
fn a_large_file_is_put_aside_and_the_chain_goes_on() {
    let world = World::new();
    let mut servers =
        [configured(&world, "max_size = \"8KB\"\nkeep = 3"), configured(&world, "max_size = \"8KB\"\nkeep = 3")];
    for call in 0..30 {
        let pending: Vec<_> =
            servers.iter_mut().map(|server| server.start("bash", json!({"command": format!("echo {call}")}))).collect();
        pending.into_iter().for_each(|call| drop(call.reply().ok()));
    }
    servers.iter_mut().for_each(|server| {
        server.hang_up();
        server.wait_for_exit();
    });
    let aside = |number: u32| state(&world).join(format!("audit.jsonl.{number}"));
    assert!(aside(1).exists() && aside(3).exists() && !aside(4).exists());
    let verified = intact(&world);
    assert!(verified.contains("in 4 files") || verified.contains("in 3 files"), "{verified}");
    let shown = String::from_utf8(world.run(&["audit", "--json"]).stdout).unwrap();
    let numbers: Vec<u64> =
        shown.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["seq"].as_u64().unwrap()).collect();
    assert!(numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{numbers:?}");
    assert!(numbers[0] > 1, "the oldest file was removed");
    std::fs::remove_file(aside(3)).unwrap();
    assert_eq!(verify(&world).status.code(), Some(1), "a file is gone");
}

#[test]
fn a_log_that_cannot_be_written_is_said_once_and_stops_nothing_unless_it_is_required() {
    let world = World::new();
    std::fs::create_dir_all(state(&world).join("audit.jsonl")).unwrap();
    let mut server = configured(&world, "");
    for _ in 0..3 {
        server.bash("true").ok();
    }
    until("the warning", || server.log().contains("the audit log cannot be written").then_some(()));
    server.hang_up();
    server.wait_for_exit();
    assert_eq!(server.log().matches("the audit log cannot be written").count(), 1, "{}", server.log());
    let mut server = configured(&world, "required = true");
    let refused = server.bash("touch ran").err();
    assert!(
        refused.contains("refused: the audit log cannot be written") && refused.contains("audit.required"),
        "{refused}"
    );
    assert!(!world.project().join("ran").exists());
    std::fs::remove_dir(state(&world).join("audit.jsonl")).unwrap();
    server.bash("touch ran").ok();
    assert!(text(&world).contains("touch ran"), "a call that runs is in the log");
}

/// As on a full disk, the kernel takes a part of what is written.
#[test]
fn a_full_disk_leaves_no_torn_line_and_the_gap_is_told() {
    let world = World::new();
    let mut server = launched(&world, User::Tester, "ulimit -S -f 128; exec \"$@\"", &[]);
    for _ in 0..40 {
        server.bash(&format!(": {}", "x".repeat(3000))).ok();
    }
    until("the warning", || server.log().contains("the audit log cannot be written").then_some(()));
    server.kill();
    let whole = text(&world);
    assert!(whole.len() <= 128 * 1024 && whole.ends_with('\n'), "{}", whole.len());
    let mut next = world.server(&[]);
    next.bash("true").ok();
    until("the next server's lines", || (text(&world).len() > whole.len()).then_some(()));
    intact(&world);
}

/// A server that keeps its log on a small disk of its own, and the directory on that disk as we reach it.
fn on_a_small_disk(world: &World, audit: &str) -> (Client, PathBuf) {
    let (file, directory) = (world.home().join("config.toml"), state(world));
    std::fs::write(&file, format!("[audit]\n{audit}\n")).unwrap();
    std::fs::create_dir_all(&directory).unwrap();
    let script = format!("mount -t tmpfs -o size=400k none '{}' && exec \"$@\"", directory.display());
    let words = ["unshare", "-m", "bash", "-c", &script, "bash"];
    let command = world.command_by(&words, &["--config", file.to_str().unwrap()]);
    let server = Client::connect(command, StartOptions::default());
    let seen = PathBuf::from(format!("/proc/{}/root{}", server.pid(), directory.display()));
    (server, seen)
}

/// Fills the disk to its last byte. Returns the file to remove.
fn fill(directory: &Path) -> PathBuf {
    let path = directory.join("filler");
    let mut file = std::fs::File::create(&path).unwrap();
    for size in [4096, 64, 1] {
        while file.write_all(&vec![0; size]).is_ok() {}
    }
    let full = std::fs::write(directory.join("more"), "x").unwrap_err();
    assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);
    path
}

#[test]
fn a_disk_that_is_really_full_stops_nothing_and_the_log_goes_on_when_there_is_room() {
    let world = World::new();
    let (mut server, disk) = on_a_small_disk(&world, "");
    let log = || std::fs::read_to_string(disk.join("audit.jsonl")).unwrap_or_default();
    server.bash("echo before").ok();
    until("the first call", || log().contains("\"event\":\"result\"").then_some(()));
    let filler = fill(&disk);
    for call in 0..20 {
        server.bash(&format!("echo meanwhile {call} {}", "x".repeat(2000))).ok();
    }
    until("the warning", || server.log().contains("the audit log cannot be written").then_some(()));
    assert!(server.log().contains("No space left on device"), "{}", server.log());
    assert!(log().ends_with('\n'), "no torn line stays");
    std::fs::remove_file(filler).unwrap();
    server.bash("echo after").ok();
    until("the gap and the last call", || {
        let text = log();
        (text.contains("\"event\":\"lost\"") && text.contains("echo after")).then_some(())
    });
    until("the word that all is well", || {
        // Call after call without a pause would fill the small disk again.
        std::thread::sleep(std::time::Duration::from_millis(500));
        server.bash("true").ok();
        server.log().contains("the audit log is written again").then_some(())
    });
    assert_eq!(server.log().matches("the audit log cannot be written").count(), 1, "{}", server.log());
    brought_home(&world, &disk);
}

#[test]
fn a_disk_that_is_really_full_refuses_calls_where_the_log_is_required() {
    let world = World::new();
    let (mut server, disk) = on_a_small_disk(&world, "required = true");
    server.bash("echo before").ok();
    let filler = fill(&disk);
    // A few lines may still fit into the last block of the log.
    until("a refusal", || {
        let reply = server.bash(&format!("touch ran; : {}", "x".repeat(4000)));
        let refused = reply.text().contains("refused: the audit log cannot be written");
        if !refused {
            std::fs::remove_file(world.project().join("ran")).unwrap();
        }
        refused.then_some(())
    });
    let refused = server.bash(&format!("touch ran; : {}", "x".repeat(4000))).err();
    assert!(refused.contains("audit.required"), "{refused}");
    assert!(!world.project().join("ran").exists(), "nothing ran");
    std::fs::remove_file(filler).unwrap();
    server.bash("touch ran").ok();
    assert!(world.project().join("ran").exists());
    assert!(std::fs::read_to_string(disk.join("audit.jsonl")).unwrap().contains("touch ran"));
    brought_home(&world, &disk);
}

/// Copies the log from the small disk to where `testudo audit` looks for it, and checks it.
fn brought_home(world: &World, disk: &Path) {
    for name in ["audit.jsonl", "audit.head"] {
        std::fs::copy(disk.join(name), state(world).join(name)).unwrap();
    }
    intact(world);
}

fn whole(lines: &[String]) -> String {
    lines.iter().flat_map(|line| [line, "\n"]).collect()
}
