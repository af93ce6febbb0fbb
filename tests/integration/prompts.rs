//! Programs that ask: each is recognised as waiting for input, whichever way it waits, and none that computes is.

use serde_json::json;

use crate::support::{Client, World};

/// The reply of a program in a terminal. The time is long: only a recognised wait, or the end, lets the call return early.
fn asks(server: &mut Client, command: &str) -> (String, String) {
    let reply = server.call("bash", json!({"command": command, "pty": true, "timeout": 600_000})).ok();
    let id = reply.lines().next().unwrap().strip_prefix("task_id: ").unwrap().to_owned();
    assert!(reply.contains("\nwaiting_for_input: "), "{command}: {reply}");
    (id, reply)
}

/// Types a line. The time is long: only an answer lets the call return early.
fn answer(server: &mut Client, id: &str, text: &str) -> String {
    server.call("task_input", json!({"task_id": id, "text": text, "wait_ms": 600_000})).ok()
}

#[test]
fn node_waits_by_epoll() {
    let world = World::new();
    let mut server = world.server(&[]);
    let (id, reply) = asks(&mut server, "node -i");
    assert!(reply.contains("waiting_for_input: \">\""), "{reply}");
    let reply = answer(&mut server, &id, "6*7\n");
    assert!(reply.contains("\n42\n"), "{reply}");
}

#[test]
fn npm_init_asks_its_questions() {
    let world = World::new();
    let mut server = world.server(&[]);
    let (id, reply) = asks(&mut server, "npm init");
    assert!(reply.contains("package name:"), "{reply}");
    let reply = answer(&mut server, &id, "demo\n");
    assert!(reply.contains("version:"), "{reply}");
}

#[test]
fn a_password_is_asked_for_through_dev_tty() {
    let world = World::new();
    let mut server = world.server(&[]);
    let (id, reply) = asks(&mut server, "python3 -c 'import getpass; print(len(getpass.getpass()))' </dev/null");
    assert!(reply.contains("waiting_for_input: \"Password:\""), "{reply}");
    let reply = answer(&mut server, &id, "secret\n");
    assert!(reply.contains("status: completed") && reply.contains("\n6\n"), "{reply}");
    assert!(!reply.contains("secret"), "{reply}");
}

#[test]
fn every_way_to_wait_for_a_terminal_is_seen() {
    let world = World::new();
    let mut server = world.server(&[]);
    for wait in [
        "p = select.poll(); p.register(r, 1); p.register(0, 1); p.poll()",
        "select.select([r, 0], [], [])",
        "e = select.epoll(); e.register(r, 1); e.register(0, 1); e.poll()",
        "import tty; tty.setraw(0); p = select.poll(); p.register(0, 1)\nwhile not p.poll(700): pass",
        "import threading; t = threading.Thread(target=lambda: os.read(0, 1)); t.start(); t.join()",
        "os.read(os.open('/dev/tty', os.O_RDONLY), 1)",
    ] {
        world.file("wait.py", format!("import os, select\nr, w = os.pipe()\nprint('asks')\n{wait}\nprint('done')\n"));
        let (id, _) = asks(&mut server, "python3 -u wait.py");
        let reply = answer(&mut server, &id, "x\n");
        assert!(reply.contains("status: completed") && reply.contains("done"), "{wait}: {reply}");
    }
}

#[test]
fn a_menu_drawn_with_cursor_keys_waits_and_takes_keys() {
    let world = World::new();
    world.file(
        "menu.py",
        "import curses\ndef main(s):\n at = 0\n while True:\n  s.clear()\n  for i, n in enumerate(['one', 'two', 'three']):\n   \
         s.addstr(i, 0, ('> ' if i == at else '  ') + n)\n  s.refresh()\n  key = s.getch()\n  if key == 10: return at\n  \
         at = (at + (key == curses.KEY_DOWN) - (key == curses.KEY_UP)) % 3\nprint('chosen', curses.wrapper(main))\n",
    );
    let mut server = world.server(&[]);
    let (id, reply) = asks(&mut server, "python3 menu.py");
    assert!(reply.contains("> one"), "{reply}");
    let down = server.call("task_input", json!({"task_id": id, "keys": ["Down"], "wait_ms": 600_000})).ok();
    assert!(down.contains("> two"), "{down}");
    let chosen = server.call("task_input", json!({"task_id": id, "keys": ["Enter"], "wait_ms": 600_000})).ok();
    assert!(chosen.contains("chosen 1"), "{chosen}");
}

#[test]
fn a_program_that_computes_or_sleeps_does_not_wait_for_input() {
    let world = World::new();
    let mut server = world.server(&[]);
    for command in ["python3 -c 'while True: pass'", "sleep 1000", "cat <(sleep 1000)"] {
        let reply = server.call("bash", json!({"command": command, "pty": true, "timeout": 4000})).ok();
        assert!(reply.contains("status: running\n") && !reply.contains("waiting_for_input"), "{command}: {reply}");
    }
}

#[test]
fn typing_waits_for_the_answer_and_not_for_the_echo() {
    let world = World::new();
    let mut server = world.server(&[]);
    let (id, _) = asks(&mut server, "python3 -iq");
    let reply = answer(&mut server, &id, "import time; time.sleep(2); print(3 + 4)\n");
    assert!(reply.contains("\n7\n"), "{reply}");
    server.call("task_input", json!({"task_id": id, "text": "time.sleep(1); print('no' + 'w')\n", "wait_ms": 1})).ok();
    let waited = server.call("task_output", json!({"task_id": id, "wait_for": "no|print", "wait_ms": 600_000})).ok();
    assert!(waited.contains("wait_ended: the pattern matched\n") && waited.contains("\nnow\n"), "{waited}");
}

#[test]
fn a_key_right_after_the_start_is_not_lost() {
    let world = World::new();
    let mut server = world.server(&[]);
    for _ in 0..20 {
        let start = json!({"command": "sleep 1000", "pty": true, "run_in_background": true});
        let started = server.call("bash", start).ok();
        let id = started.lines().next().unwrap().strip_prefix("task_id: ").unwrap().to_owned();
        let reply = server.call("task_input", json!({"task_id": id, "keys": ["C-c"], "wait_ms": 20_000})).ok();
        assert!(reply.starts_with("status: completed\nexit_code: 130\n"), "{reply}");
        server.call("task_output", json!({"task_id": id})).ok();
    }
}
