//! Terminals, with real programs: they start, show their screen, take keys, and end.

use serde_json::json;

use crate::support::{Client, World, nap, until, with_word};

/// Starts a program in a terminal. The time is long: the call returns because the program ends or waits for input.
fn open(server: &mut Client, command: &str) -> (String, String) {
    let reply = server.call("bash", json!({"command": command, "pty": true, "timeout": 600_000})).ok();
    let id = reply.lines().next().unwrap().strip_prefix("task_id: ").unwrap().to_owned();
    (id, reply)
}

/// Types, and returns the screen once it shows `what`. The answer to `task_input` itself may come earlier, because a
/// program on a busy machine falls silent before it is done.
fn type_in(server: &mut Client, id: &str, text: &str, keys: &[&str], what: &str) -> String {
    let typed = server.call("task_input", json!({"task_id": id, "text": text, "keys": keys})).ok();
    if typed.contains(what) { typed } else { shows(server, id, what) }
}

/// Reads the screen until it shows `what`.
fn shows(server: &mut Client, id: &str, what: &str) -> String {
    until(what, || Some(server.call("task_output", json!({"task_id": id})).ok()).filter(|text| text.contains(what)))
}

#[test]
fn a_short_program_answers_with_its_screen() {
    let world = World::new();
    let mut server = world.server(&[]);
    let (id, reply) = open(&mut server, "tty >/dev/null && echo a terminal; stty size; echo $TERM; exit 3");
    assert_eq!(
        reply,
        format!("task_id: {id}\nstatus: completed\nexit_code: 3\nscreen:\na terminal\n24 80\nxterm-256color\n")
    );
}

#[test]
fn python_evaluates_line_by_line() {
    let world = World::new();
    let mut server = world.server(&[]);
    let (id, reply) = open(&mut server, "python3 -iq");
    assert!(reply.starts_with(&format!("task_id: {id}\nstatus: running\nwaiting_for_input: \">>>\"\n")), "{reply}");
    type_in(&mut server, &id, "6*7\n", &[], "\n42\n");
    type_in(&mut server, &id, "exit(4)", &["Enter"], "status: completed\nexit_code: 4\n");
}

#[test]
fn an_interactive_bash_keeps_its_own_state_and_job_control() {
    let world = World::new();
    let mut server = world.server(&[]);
    let (id, _) = open(&mut server, "PS1='prompt> ' bash --norc -i");
    type_in(&mut server, &id, "cd /; pwd\n", &[], "\n/\n");
    let nap = nap();
    type_in(&mut server, &id, &format!("sleep {nap}\n"), &[], &nap);
    until("the sleep to run", || (!with_word(&nap).is_empty()).then_some(()));
    type_in(&mut server, &id, "", &["C-c"], "^C");
    until("the sleep to end", || with_word(&nap).is_empty().then_some(()));
    type_in(&mut server, &id, "echo $((40+2))\n", &[], "\n42\n");
    type_in(&mut server, &id, "", &["C-d"], "status: completed");
}

#[test]
fn less_pages_and_quits() {
    let world = World::new();
    let mut server = world.server(&[]);
    let (id, reply) = open(&mut server, "seq 1 200 | less");
    assert!(reply.contains("screen:\n1\n2\n"), "{reply}");
    type_in(&mut server, &id, "", &["PageDown"], "\n40\n");
    type_in(&mut server, &id, "/^150$\n", &[], "\n150\n");
    type_in(&mut server, &id, "q", &[], "status: completed\nexit_code: 0\n");
}

#[test]
fn vim_edits_a_file_and_saves_it() {
    let world = World::new();
    world.file("note.txt", "second\n");
    let mut server = world.server(&[]);
    let (id, reply) = open(&mut server, "vim -u NONE -N note.txt");
    assert!(reply.contains("second"), "{reply}");
    type_in(&mut server, &id, "Ofirst", &["Escape"], "first");
    type_in(&mut server, &id, "", &["Down", "End"], "second");
    type_in(&mut server, &id, "a!", &["Escape"], "second!");
    type_in(&mut server, &id, ":wq\n", &[], "status: completed\nexit_code: 0\n");
    assert_eq!(world.read("note.txt"), "first\nsecond!\n");
}

#[test]
fn git_add_patch_takes_answers() {
    let world = World::new();
    let mut server = world.server(&[]);
    let git = "git -c user.name=a -c user.email=a@b.c";
    server
        .bash(&format!("git init -q; seq 1 30 > f; git add f; {git} commit -qm one; sed -i '1s/$/ a/; 30s/$/ b/' f"))
        .ok();
    let (id, reply) = open(&mut server, "git add -p");
    assert!(reply.contains("(1/2) Stage this hunk"), "{reply}");
    type_in(&mut server, &id, "y\n", &[], "(2/2) Stage this hunk");
    type_in(&mut server, &id, "n\n", &[], "status: completed");
    assert_eq!(server.bash("git diff --cached | grep '^[+]' | tail -1").stdout(), "+1 a\n");
}

#[test]
fn top_redraws_and_still_waits_for_a_key() {
    let world = World::new();
    let mut server = world.server(&[]);
    let (id, reply) = open(&mut server, "top -d 0.5");
    assert!(reply.contains("\nwaiting_for_input: ") && reply.contains("load average"), "{reply}");
    type_in(&mut server, &id, "q", &[], "status: completed");
}

#[test]
fn a_debugger_evaluates_expressions() {
    let world = World::new();
    let mut server = world.server(&[]);
    let (id, reply) = open(&mut server, "gdb -q -nx");
    assert!(reply.contains("\nwaiting_for_input: \"(gdb)\"\n"), "{reply}");
    type_in(&mut server, &id, "print 6*7\n", &[], "$1 = 42");
    type_in(&mut server, &id, "quit\n", &[], "status: completed");
}

#[test]
fn scrollback_comes_on_request_and_is_bounded() {
    let world = World::new();
    let file = world.outside().join("config.toml");
    std::fs::write(&file, "[tasks]\nscrollback_lines = 50\nterminal_rows = 10\nterminal_columns = 40\n").unwrap();
    let mut server = world.server(&["--config", file.to_str().unwrap()]);
    let (id, reply) = open(&mut server, "seq 1 500; stty size; read x");
    assert!(reply.contains("\n10 40\n") && !reply.contains("\n480\n"), "{reply}");
    let back = server.call("task_output", json!({"task_id": id, "tail": 30})).ok();
    assert!(back.contains("\n480\n") && back.contains("\n500\n"), "{back}");
    let all = server.call("task_output", json!({"task_id": id, "grep": "^4[0-9]+$"})).ok();
    assert!(!all.contains("\n400\n"), "no more than the cap is kept: {all}");
}

#[test]
fn an_idle_terminal_is_ended() {
    let world = World::new();
    let file = world.outside().join("config.toml");
    std::fs::write(&file, "[tasks]\nterminal_idle = 1\n").unwrap();
    let mut server = world.server(&["--config", file.to_str().unwrap()]);
    server.call("bash", json!({"command": "sleep 1000", "pty": true, "run_in_background": true})).ok();
    let told = until("its end", || Some(server.bash("true").ok()).filter(|text| text.contains("has ended")));
    assert!(told.contains("[task t1 has ended with exit code 1"), "{told}");
}

#[test]
fn stdin_text_and_a_terminal_exclude_each_other() {
    let world = World::new();
    let mut server = world.server(&[]);
    let error = server.call("bash", json!({"command": "cat", "pty": true, "stdin": "x"})).err();
    assert!(error.contains("task_input"), "{error}");
}
