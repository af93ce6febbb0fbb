//! Ports that commands listen on in a network of their own appear on the host, and go with their task.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use serde_json::json;

use crate::support::{Inside, Level, until};

/// Answers every connection on the port that is the first argument. The second one says who answers.
const SERVER: &str = "import socket, sys\ns = socket.create_server(('127.0.0.1', int(sys.argv[1])))\nwho = (sys.argv[2:] or \
                      ['inside'])[0]\nwhile True:\n    c, _ = s.accept()\n    c.sendall(b'from ' + who.encode() + b' ' + \
                      c.recv(100))\n    c.close()\n";

fn ask(port: u16) -> Option<String> {
    let mut connection = TcpStream::connect(("127.0.0.1", port)).ok()?;
    connection.write_all(b"hello").ok()?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer).ok()?;
    Some(answer).filter(|answer| !answer.is_empty())
}

/// A port that nobody uses now.
fn free() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn a_server_of_a_task_appears_on_the_host_and_goes_with_it() {
    for (nobody, mode) in [(false, "hosts"), (true, "off")] {
        let mut inside = Inside::new(Level::Full, nobody, "", &["--network", mode]);
        inside.world.file("server.py", SERVER);
        let port = free();
        inside
            .client
            .call("bash", json!({"command": format!("python3 server.py {port}"), "run_in_background": true}))
            .ok();
        let waited =
            inside.client.call("task_output", json!({"task_id": "t1", "wait_for": format!("port:{port}")})).ok();
        assert!(!waited.contains("[sandbox"), "{waited}");
        assert_eq!(until("the port on the host", || ask(port)), "from inside hello");
        // Other commands of the session reach it too.
        let reach = format!(
            "python3 -c 'import socket; c = socket.create_connection((\"127.0.0.1\", {port})); c.sendall(b\"x\"); print(c.recv(99))'"
        );
        assert_eq!(inside.does(&reach), "b'from inside x'\n");
        inside.client.call("task_stop", json!({"task_id": "t1"})).ok();
        until("the port to go", || TcpStream::connect(("127.0.0.1", port)).is_err().then_some(()));
    }
}

#[test]
fn a_port_that_is_taken_is_published_elsewhere_and_the_result_says_where() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let mut inside = Inside::new(Level::Full, false, "", &["--network", "off"]);
    inside.world.file("server.py", SERVER);
    inside.client.call("bash", json!({"command": format!("python3 server.py {port}"), "run_in_background": true})).ok();
    let waited = inside.client.call("task_output", json!({"task_id": "t1", "wait_for": format!("port:{port}")})).ok();
    let note = format!("[sandbox: port {port} of this session is 127.0.0.1:");
    let rest = waited.split(&note).nth(1).unwrap_or_else(|| panic!("{waited}"));
    let elsewhere = rest.split(' ').next().unwrap().parse().unwrap();
    assert_eq!(until("the port on the host", || ask(elsewhere)), "from inside hello");
}

#[test]
fn nothing_is_published_if_that_is_switched_off() {
    let mut inside = Inside::new(Level::Full, false, "[network]\npublish = false", &["--network", "off"]);
    inside.world.file("server.py", SERVER);
    let port = free();
    inside.client.call("bash", json!({"command": format!("python3 server.py {port}"), "run_in_background": true})).ok();
    inside.client.call("task_output", json!({"task_id": "t1", "wait_for": format!("port:{port}")})).ok();
    inside.does("sleep 0.4");
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
}

/// Servers of the person do not count: the agent asks about its own.
#[test]
fn waiting_for_a_port_looks_inside_the_session() {
    for mode in ["hosts", "off"] {
        let outside = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = outside.local_addr().unwrap().port();
        let mut inside = Inside::new(Level::Full, false, "", &["--network", mode]);
        inside.client.call("bash", json!({"command": "sleep 1000", "run_in_background": true})).ok();
        let wait = json!({"task_id": "t1", "wait_for": format!("port:{port}"), "wait_ms": 400});
        let waited = inside.client.call("task_output", wait).ok();
        assert!(waited.contains("running") && !waited.contains("accepts connections"), "{waited}");
    }
}

#[test]
fn another_session_does_not_take_a_port_over() {
    let mut inside = Inside::new(Level::Full, false, "", &["--network", "off"]);
    inside.world.file("server.py", SERVER);
    let port = free();
    let mut start = |session: &str| {
        let command = format!("python3 server.py {port} {session}");
        let arguments = json!({"command": command, "run_in_background": true, "session": session});
        inside.client.call("bash", arguments).ok();
    };
    start("first");
    assert_eq!(until("the first one", || ask(port)), "from first hello");
    start("second");
    let arguments = json!({"task_id": "t2", "wait_for": format!("port:{port}"), "session": "second"});
    let waited = inside.client.call("task_output", arguments).ok();
    let note = format!("[sandbox: port {port} of this session is 127.0.0.1:");
    let rest = waited.split(&note).nth(1).unwrap_or_else(|| panic!("{waited}"));
    let elsewhere = rest.split(' ').next().unwrap().parse().unwrap();
    assert_eq!(until("the second one", || ask(elsewhere)), "from second hello");
    assert_eq!(ask(port).as_deref(), Some("from first hello"));
}
