//! What a result shows of output that is not plain lines, and how its ids are found again.

use serde_json::json;

use crate::support::World;

#[test]
fn a_progress_bar_is_one_line_and_the_store_keeps_every_byte() {
    let world = World::new();
    let mut server = world.server(&[]);
    let text = server.bash("for i in $(seq 3000); do printf '\\r%4d of 3000' $i; done; echo; echo done").ok();
    assert_eq!(text, "exit_code: 0\n\nstdout:\n3000 of 3000\ndone\n");
    assert_eq!(server.bash("printf 'a\\r\\nb\\r\\n'").ok(), "exit_code: 0\n\nstdout:\na\r\nb\r\n");
    let erased = server.bash("printf 'a long line\\r\\033[Kshort\\n'").ok();
    assert_eq!(erased, "exit_code: 0\n\nstdout:\nshort\n");
}

#[test]
fn binary_output_is_summed_up_and_stored() {
    let world = World::new();
    let mut server = world.server(&[]);
    world.file("picture", (0..70_000_u32).map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()[2]).collect::<Vec<_>>());
    let text = server.bash("cat picture; echo to stderr >&2").ok();
    assert_eq!(text, "exit_code: 0\n\nstderr:\nto stderr\n\nstdout:\n[binary output, 70000 bytes, stored as o1]\n");
    assert!(server.call("task_output", json!({"task_id": "o1", "max_lines": 1})).ok().contains("lines: 1-1 of "));
    let latin = server.bash("printf 'gr\\374n und bla\\337 und wei\\337 und noch mehr Text\\n'").ok();
    assert!(latin.contains("gr\u{fffd}n und bla\u{fffd}"), "{latin}");
}

#[test]
fn a_cut_stream_is_named_before_the_blocks() {
    let world = World::new();
    let mut server = world.server(&[]);
    let text =
        server.bash("head -c 40000 /dev/zero | tr '\\0' e >&2; head -c 50000 /dev/zero | tr '\\0' x; sleep 100 &").ok();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("exit_code: 0"));
    assert!(lines.next().unwrap().starts_with("background_pids: "), "{text}");
    assert_eq!(lines.next(), Some("stored: o1 (40000 characters)"));
    assert_eq!(lines.next(), Some("stored: o2 (50000 characters)"));
    assert_eq!((lines.next(), lines.next()), (Some(""), Some("stderr:")));
}

#[test]
fn a_running_task_that_is_read_again_keeps_the_id_of_its_output() {
    let world = World::new();
    let mut server = world.server(&[]);
    let command = "head -c 50000 /dev/zero | tr '\\0' x; echo; sleep 100";
    server.call("bash", json!({"command": command, "run_in_background": true})).ok();
    let all = server.call("task_output", json!({"task_id": "t1", "wait_for": "^x{50000}$"})).ok();
    assert!(all.contains("\nstored: o1 (50001 characters)\n"), "{}", &all[..200]);
    assert!(server.call("task_output", json!({"task_id": "t1"})).ok().contains("\nstored: o1 ("));
}

#[test]
fn an_id_is_found_without_its_session() {
    let world = World::new();
    let mut server = world.server(&[]);
    let start = |session: &str| json!({"command": format!("echo in {session}; exit 3"), "run_in_background": true, "session": session});
    assert!(server.call("bash", start("one")).ok().starts_with("task_id: t1\n"));
    assert!(server.call("bash", start("two")).ok().starts_with("task_id: t2\n"));
    for (id, session) in [("t1", "one"), ("t2", "two")] {
        let text = server.call("task_output", json!({"task_id": id, "wait_ms": 60000})).ok();
        assert!(text.starts_with(&format!("status: completed\nexit_code: 3\n\nstdout:\nin {session}\n")), "{text}");
    }
    server.call("bash", json!({"command": "seq 1 20000", "session": "one"})).ok();
    let wrong = server.call("task_output", json!({"task_id": "o1", "session": "two", "tail": 1})).ok();
    assert!(wrong.ends_with("stdout:\n20000\n"), "{wrong}");
    let unknown = server.call("task_output", json!({"task_id": "t9"})).err();
    assert_eq!(unknown, "task not found: t9\nKnown: o1.");
}

#[test]
fn a_removed_directory_is_said_on_the_result_that_removed_it() {
    let world = World::new();
    let mut server = world.server(&[]);
    let project = world.project().display().to_string();
    let text = server.bash("mkdir gone && cd gone && rmdir ../gone").ok();
    assert_eq!(text, format!("exit_code: 0\ncwd: {project} ({project}/gone no longer exists)\n"));
    assert_eq!(server.bash("pwd").ok(), format!("exit_code: 0\n\nstdout:\n{project}\n"));
    let below_tmp = server.bash("mkdir /tmp/d && cd /tmp/d && rm -r /tmp/d").ok();
    assert_eq!(below_tmp, format!("exit_code: 0\ncwd: {project} (/tmp/d no longer exists)\n"));
}
