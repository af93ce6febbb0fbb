//! Output of any size and kind: cut in the result, complete in the store, without growth of the server's memory.

use serde_json::json;

use crate::support::{Client, StartOptions, World, until};

/// The id that a truncated result names.
fn output_id(text: &str) -> String {
    let (_, after) = text.split_once("task_id=\"").expect("a hint with an id");
    after.split('"').next().unwrap().to_owned()
}

fn kib(server: &Client, key: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with(key)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn the_first_30000_characters_are_shown_with_the_call_that_reads_the_rest() {
    let world = World::new();
    let mut server = world.server(&[]);
    let text = server.bash("head -c 50000 /dev/zero | tr '\\0' x").ok();
    let want = format!(
        "exit_code: 0\nstored: o1 (50000 characters)\n\nstdout:\n{}\n\n[Truncated: output was 50000 characters, showing first 30000]\n[The whole is stored: \
         task_output with task_id=\"o1\" and from_line, tail or grep reads it without running the command again.]\n",
        "x".repeat(30000)
    );
    assert_eq!(text, want);
    assert!(!server.bash("head -c 30000 /dev/zero | tr '\\0' x").ok().contains("Truncated"));
}

#[test]
fn characters_are_counted_not_bytes_and_never_split() {
    let world = World::new();
    let mut server = world.server(&[]);
    let text = server.bash("printf '日%.0s' $(seq 40000)").ok();
    let shown =
        format!("\nstdout:\n{}\n\n[Truncated: output was 40000 characters, showing first 30000]", "日".repeat(30000));
    assert!(text.contains(&shown), "{}", &text[text.len() - 300..]);
}

#[test]
fn a_failed_command_shows_its_last_lines_too() {
    let world = World::new();
    let mut server = world.server(&[]);
    let text = server.bash("seq 1 20000; echo the cause; exit 1").ok();
    let (_, tail) = text.split_once("[Last 20 lines:]\n").unwrap();
    assert_eq!(tail.lines().count(), 20);
    assert!(tail.ends_with("\n20000\nthe cause\n"), "{tail}");
}

#[test]
fn a_stored_output_is_paged_tailed_and_searched() {
    let world = World::new();
    let mut server = world.server(&[]);
    let id = output_id(&server.bash("seq -f 'row-%.0f-x' 1 20000; exit 3").ok());
    let mut read = |arguments: serde_json::Value| {
        let mut all = json!({"task_id": id});
        all.as_object_mut().unwrap().extend(arguments.as_object().unwrap().clone());
        server.call("task_output", all).ok()
    };
    assert_eq!(
        read(json!({"from_line": 100, "max_lines": 2})),
        "status: completed\nexit_code: 3\nlines: 100-101 of 20000\n\nstdout:\nrow-100-x\nrow-101-x\n"
    );
    assert_eq!(
        read(json!({"tail": 2})),
        "status: completed\nexit_code: 3\nlines: 19999-20000 of 20000\n\nstdout:\nrow-19999-x\nrow-20000-x\n"
    );
    assert_eq!(
        read(json!({"grep": "^row-[15]777-x$"})),
        "status: completed\nexit_code: 3\nlines: 1777, 5777 of 20000\n\nstdout:\nrow-1777-x\nrow-5777-x\n"
    );
    assert!(read(json!({"grep": "nothing"})).contains("lines: none of 20000"));
    assert!(read(json!({"from_line": 1})).contains("from_line="), "a page that was cut names the next");
    assert!(read(json!({"grep": "row", "tail": 1})).contains("row-20000-x"));
}

#[test]
fn a_bad_id_is_refused_with_the_valid_ones_and_a_bad_pattern_is_refused() {
    let world = World::new();
    let mut server = world.server(&[]);
    assert!(server.call("task_output", json!({"task_id": "o1"})).err().starts_with("task not found: o1"));
    server.bash("seq 20000").ok();
    assert!(server.call("task_output", json!({"task_id": "o9"})).err().contains("o1"));
    assert!(server.call("task_output", json!({"task_id": "o1", "grep": "("})).err().contains("pattern"));
}

#[test]
fn escapes_are_removed_from_the_result_and_kept_in_the_store() {
    let world = World::new();
    let mut server = world.server(&[]);
    let text = server.bash("printf '\\033[31mred\\033[0m \\xff\\xfe end\\n'").ok();
    assert_eq!(text, "exit_code: 0\n\nstdout:\nred \u{fffd}\u{fffd} end\n");
    server.bash("printf '\\033[31mred\\033[0m\\n'; seq 20000").ok();
    let stores = world.home().join(".cache/testudo/outputs");
    let stored = find_file(&stores, b"\x1b[31mred").is_some();
    assert!(stored, "the store keeps every byte");
}

fn find_file(directory: &std::path::Path, start: &[u8]) -> Option<std::path::PathBuf> {
    std::fs::read_dir(directory).ok()?.flatten().map(|entry| entry.path()).find_map(|path| {
        if path.is_dir() {
            find_file(&path, start)
        } else {
            std::fs::read(&path).ok()?.starts_with(start).then_some(path)
        }
    })
}

#[test]
fn three_gigabytes_leave_the_servers_memory_flat() {
    let world = World::new();
    world.file("../config.toml", "[output]\nstore_bytes = \"1MB\"\n");
    let config = world.project().join("../config.toml");
    let mut server = world.server(&["--config", config.to_str().unwrap()]);
    server.bash("head -c 2000000 /dev/zero | tr '\\0' w").ok();
    let before = kib(&server, "VmRSS");
    let text =
        server.call("bash", json!({"command": "head -c 3000000000 /dev/zero | tr '\\0' x", "timeout": 600_000})).ok();
    assert!(text.contains("[Truncated: output was 3000000000 characters, showing first 30000]"));
    assert!(text.contains("Only the first 1048576 bytes are stored: that is the disk budget"));
    let growth = kib(&server, "VmHWM").saturating_sub(before);
    assert!(growth <= 16 * 1024, "grew by {growth} KiB");
}

#[test]
fn lines_of_any_length_do_not_stall() {
    let world = World::new();
    let mut server = world.server(&[]);
    let text = server.bash("head -c 20000000 /dev/zero | tr '\\0' y; echo; echo end").ok();
    assert!(text.contains("[Truncated: output was 20000005 characters, showing first 30000]"));
    let page = server.call("task_output", json!({"task_id": output_id(&text), "from_line": 2})).ok();
    assert!(page.ends_with("lines: 2-2 of 2\n\nstdout:\nend\n"), "{}", &page[..200.min(page.len())]);
}

#[test]
fn a_server_removes_its_store_when_it_ends_and_the_store_of_a_killed_server_when_it_starts() {
    let world = World::new();
    let stores = world.home().join(".cache/testudo/outputs");
    let count = || std::fs::read_dir(&stores).map_or(0, Iterator::count);
    let mut first = world.server(&[]);
    first.bash("seq 100000").ok();
    assert_eq!(count(), 1);
    first.hang_up();
    first.wait_for_exit();
    assert_eq!(count(), 0);
    let mut second = world.server(&[]);
    second.bash("seq 100000").ok();
    second.kill();
    assert_eq!(count(), 1);
    let mut third = world.server(&[]);
    third.bash("true").ok();
    until("only the living server's store to be left", || (count() == 1).then_some(()));
}

#[test]
fn a_full_disk_is_reported_and_the_result_still_comes() {
    let world = World::new();
    // The server gets its own mount namespace, in which the store is on a file system of one megabyte.
    let cache = world.home().join(".cache");
    std::fs::create_dir(&cache).unwrap();
    let program = env!("CARGO_BIN_EXE_testudo");
    let script = format!("mount -t tmpfs -o size=1m none '{}' && exec '{program}'", cache.display());
    let mut command = std::process::Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]);
    command.current_dir(world.project()).env("HOME", world.home());
    let mut server = Client::connect(command, StartOptions::default());
    let text = server.bash("head -c 3000000 /dev/zero | tr '\\0' x; echo done >&2").ok();
    assert!(text.contains("\nstderr:\ndone\n"), "the command ran to its end");
    assert!(text.contains("[Truncated: output was 3000000 characters, showing first 30000]"));
    assert!(text.contains("bytes are stored: No space left on device"), "{}", &text[text.len() - 300..]);
    assert_eq!(server.bash("echo still here").stdout(), "still here\n");
}

#[test]
fn a_failed_command_shows_its_last_lines_even_beyond_the_disk_budget() {
    let world = World::new();
    world.file("../config.toml", "[output]\nstore_bytes = \"1MB\"\n");
    let config = world.project().join("../config.toml");
    let mut server = world.server(&["--config", config.to_str().unwrap()]);
    let text = server.bash("seq 1 1000000; echo the reason; exit 3").text();
    let want = (999_982..=1_000_000).map(|number| number.to_string()).collect::<Vec<_>>().join("\n");
    assert!(text.ends_with(&format!("[Last 20 lines:]\n{want}\nthe reason\n")), "{}", &text[text.len() - 400..]);
}
