//! Who can connect to `testudo console`. What the page shows is tested in Chromium (`tests/console/`).

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;

use serde_json::json;

use crate::people::Growing;
use crate::support::{World, everywhere, until, user_words};

struct Console {
    /// The words that run a program as the same user.
    by: Vec<&'static str>,
    _program: Growing,
    address: String,
    /// The path of the link that logs in once.
    login: String,
}

impl Console {
    fn start(world: &World, nobody: bool) -> Self {
        let words = ["console", "--no-open"];
        let by = if nobody { user_words().to_vec() } else { Vec::new() };
        let program = Growing::spawn(if nobody { world.command_by(&by, &words) } else { world.command(&words) });
        program.until("/console/login?key=");
        program.until("\n");
        let line = program.seen().lines().next().unwrap().trim_start_matches("http://").to_owned();
        let (address, path) = line.split_once('/').unwrap();
        Self { by, address: address.to_owned(), login: format!("/{path}"), _program: program }
    }

    fn get(&self, path: &str, header: &str) -> String {
        let url = format!("http://{}{path}", self.address);
        let words: Vec<&str> = self.by.iter().copied().chain(["curl", "-si", "-H", header, &url]).collect();
        let output = Command::new(words[0]).args(&words[1..]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    /// Logs in, and returns the header with the cookie.
    fn cookie(&self) -> String {
        let answer = self.get(&self.login, "");
        let cookie = answer.split_once("set-cookie: ").unwrap_or_else(|| panic!("{answer}")).1;
        format!("cookie: {}", cookie.split(';').next().unwrap())
    }
}

#[test]
fn no_command_can_log_in_or_use_the_cookie_of_its_person() {
    const CONNECT: &str = r#"
import os, signal, socket, sys, time
port, path, cookie, way = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
request = f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n{cookie}\r\nconnection: close\r\n\r\n".encode()
def talk(s):
    s.sendall(request)
    while part := s.recv(65536):
        os.write(1, part)
if way == "plain":
    talk(socket.create_connection(("127.0.0.1", port)))
elif way == "setsid":
    read, write = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            try:
                talk(socket.create_connection(("127.0.0.1", port)))
            finally:
                os._exit(0)
        os._exit(0)
    os.close(write)
    os.read(read, 1)
else:
    # The socket goes to another process before it is used, and the one that made it ends while it is looked at.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for attempt in range(60):
        ours, theirs = socket.socketpair()
        if os.fork() == 0:
            s = socket.create_connection(("127.0.0.1", port))
            socket.send_fds(ours, [b"x"], [s.fileno()])
            time.sleep(attempt * 0.0001)
            os._exit(0)
        talk(socket.socket(fileno=socket.recv_fds(theirs, 1, 1)[1][0]))
"#;
    everywhere("", &[], |inside| {
        let start = || Console::start(&inside.world, inside.nobody);
        let (console, other) = (start(), start());
        let script = inside.world.file("connect.py", CONNECT);
        let cookie = other.cookie();
        assert!(other.get("/console/api/servers", &cookie).contains("200 OK"), "the person can");
        for (target, path, cookie) in
            [(&console, console.login.as_str(), ""), (&other, "/console/api/servers", cookie.as_str())]
        {
            let port = target.address.rsplit_once(':').unwrap().1;
            for way in ["plain", "setsid", "pass"] {
                let words = format!("python3 {} {port} '{path}' '{cookie}' {way} 2>&1", script.display());
                let shown = inside.client.bash(&words).text();
                assert!(!shown.contains("200 OK") && !shown.contains("set-cookie"), "{way}: {shown}");
                assert!(shown.contains("403 Forbidden") || shown.contains("Error"), "{way}: {shown}");
            }
        }
        assert!(console.get(&console.login, "").contains("set-cookie"), "the link was not used up");
    });
}

/// An agent must not be able to keep its person from the page.
#[test]
fn connections_of_a_command_take_no_place_from_the_person() {
    const HOLD: &str = r#"
import socket, sys
held = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for _ in range(200)]
print("holding", len(held), flush=True)
open("held", "w").close()
sys.stdin.read()
"#;
    let world = World::new();
    let console = Console::start(&world, false);
    let mut server = world.server(&[]);
    let script = world.file("hold.py", HOLD);
    let port = console.address.rsplit_once(':').unwrap().1.to_owned();
    let hold = format!("python3 {} {port}; sleep 1030", script.display());
    server.call("bash", json!({"command": hold, "run_in_background": true})).ok();
    until("the connections", || world.project().join("held").exists().then_some(()));
    let cookie = console.cookie();
    assert!(console.get("/console/api/servers", &cookie).contains("200 OK"));
}

#[test]
fn no_program_of_another_user_can_connect() {
    assert!(rustix::process::geteuid().is_root(), "this test runs programs as two users, so it needs root");
    let world = World::for_user(65534);
    let console = Console::start(&world, true);
    let ask = |user: &str| {
        let url = format!("http://{}{}", console.address, console.login);
        let words = [&format!("--reuid={user}"), "--regid=65534", "--clear-groups", "curl", "-si", &url];
        let output = Command::new("setpriv").args(words).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(ask("12345").contains("403 Forbidden"));
    assert!(ask("65534").contains("200 OK"));
}

#[test]
fn the_page_is_at_console_over_http_behind_the_token() {
    let world = World::new();
    let server = crate::support::HttpServer::with_token(&world);
    let get = |path: &str, headers: &str| {
        let mut stream = TcpStream::connect(&server.address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nhost: {}\r\n{headers}connection: close\r\n\r\n", server.address)
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    assert!(get("/console", "").starts_with("HTTP/1.1 401"));
    assert!(get("/console/api/servers", "").starts_with("HTTP/1.1 401"));
    assert!(get("/console/api/servers", "authorization: Bearer wrong\r\n").starts_with("HTTP/1.1 401"));
    assert!(get("/console/api/servers", "authorization: Bearer tok\r\n").contains("\"pid\""));
    assert!(get("/console/login?key=", "").starts_with("HTTP/1.1 401"), "there are no links here");
    assert!(get("/console", "origin: https://evil.example\r\n").starts_with("HTTP/1.1 403"));
    assert!(get("/console/assets/main.js", "").contains("content-security-policy: default-src 'none'"));
}
