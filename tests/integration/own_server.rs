//! A command with network access must not become a client of the server that runs it: as such it would choose its own
//! directories and answer its own questions.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::support::{HttpInside, World, http_everywhere, text, until};

/// A script for python3. It connects to the server in the way that `METHOD` names, sends a valid `initialize` and prints
/// the whole answer.
const CONNECT: &str = r#"
import json, os, socket, sys, threading, time
method, port = sys.argv[1], int(sys.argv[2])
body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25",
    "capabilities": {"elicitation": {}, "roots": {}}, "clientInfo": {"name": "x", "version": "1"}}})
head = ["POST /mcp HTTP/1.1", "host: localhost", "authorization: Bearer tok", "content-type: application/json",
    "accept: application/json, text/event-stream", "connection: close"]
if "CALL" in os.environ:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "bash",
        "arguments": {"command": os.environ["CALL"]}, "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}}}})
    head += ["mcp-protocol-version: 2026-07-28", "mcp-method: tools/call", "mcp-name: bash"]
request = "\r\n".join(head + [f"content-length: {len(body)}", "", body])
def connect():
    if method.startswith("/"):
        s = socket.socket(socket.AF_UNIX)
        s.connect(method)
        return s
    return socket.create_connection(("::1" if method == "ipv6" else "127.0.0.1", port))
def talk(s):
    s.sendall(request.encode())
    while part := s.recv(65536):
        sys.stdout.write(part.decode())
    sys.stdout.flush()
def fork_away(work):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            try:
                work()
            finally:
                os._exit(0)
        os._exit(0)
    os.wait()
    os.close(write)
read, write = os.pipe()
if method == "setsid":
    fork_away(lambda: talk(connect()))
    os.read(read, 1)
elif method == "thread":
    # In a thread with a table of open files of its own.
    import ctypes
    def work():
        ctypes.CDLL(None).unshare(0x400)
        talk(connect())
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
elif method in ("pass", "hide"):
    # The socket goes from one process to another. With `hide` it stays on the way while the server looks for its holder.
    ours, theirs = socket.socketpair()
    def work():
        s = connect()
        s.sendall(request.encode())
        socket.send_fds(ours, [b"x"], [s.fileno()])
        s.close()
        if method == "pass":
            os.write(write, b"x")
            time.sleep(60)
        else:
            time.sleep(1)
            os.write(write, b"x")
    fork_away(work)
    os.read(read, 1)
    _, fds, _, _ = socket.recv_fds(theirs, 1, 1)
    talk(socket.socket(fileno=fds[0]))
else:
    talk(connect())
"#;

fn script(world: &World) -> String {
    let path = world.outside().join("connect.py");
    std::fs::write(&path, CONNECT).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
    text(&path)
}

fn port(address: &str) -> &str {
    address.rsplit_once(':').unwrap().1
}

#[test]
fn a_command_with_the_token_cannot_connect_and_the_person_can() {
    http_everywhere(&["--token", "tok"], |inside: &HttpInside| {
        let (script, port) = (script(&inside.world), port(&inside.server.address).to_owned());
        let mut client = inside.server.client("tok");
        for method in ["plain", "setsid", "thread", "pass", "hide"] {
            let command = format!("python3 {script} {method} {port} 2>&1");
            let shown = client.bash(&command).stdout();
            assert!(!shown.contains("200 OK") && !shown.contains("mcp-session-id"), "{method}: {shown}");
            // When a socket has been on its way for a second, the refused connection is closed already.
            assert!(method == "hide" || shown.contains("403 Forbidden"), "{method}: {shown}");
        }
        let health = client
            .bash(&format!("exec 3<>/dev/tcp/127.0.0.1/{port}; printf 'GET /health HTTP/1.0\r\n\r\n' >&3; cat <&3"));
        assert!(health.text().contains("403 Forbidden"), "{}", health.text());
        assert!(health.text().contains("own sessions cannot be its client"), "{}", health.text());
        until("the log", || inside.server.log().contains("a connection was refused").then_some(()));

        // While a command runs, the person's own programs can connect: as the server's user, and as the one who tests.
        let running = client.start("bash", json!({"command": "mkfifo wait; echo started > started; read line < wait"}));
        until("the command", || inside.world.project().join("started").exists().then_some(()));
        let outside = inside.as_server_user(&format!("python3 {script} plain {port}"));
        assert!(outside.contains("200 OK") && outside.contains("mcp-session-id"), "{outside}");
        inside.server.client("tok").bash("true").ok();
        drop(running);
    });
}

#[test]
fn a_command_finds_the_token_nowhere() {
    http_everywhere(&["--token", "a-token-of-the-test"], |inside: &HttpInside| {
        let pid = inside.server.pid();
        let mut client = inside.server.client("a-token-of-the-test");
        let look = format!(
            "echo looked; env; tr '\\0' ' ' < /proc/{pid}/cmdline; cat /proc/{pid}/environ; \
             for file in /proc/[0-9]*/cmdline /proc/[0-9]*/environ; do tr '\\0' ' ' < $file; done 2>/dev/null"
        );
        let shown = client.bash(&look).text();
        assert!(shown.contains("looked") && !shown.contains("a-token-of-the-test"), "{shown}");
        let own = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap();
        assert!(String::from_utf8_lossy(&own).contains("--token\0*******"), "the flag stays, its value is overwritten");
    });
}

#[test]
fn neither_commands_nor_file_tools_read_the_token_file() {
    let tokens = "me a-token-of-the-test\n";
    for in_project in [false, true] {
        http_everywhere(&["--token-file", if in_project { "PROJECT/tokens" } else { "OUTSIDE/tokens" }], |inside| {
            let place = if in_project { inside.world.project() } else { inside.world.outside() };
            let path = text(&place.join("tokens"));
            assert_eq!(std::fs::read_to_string(&path).unwrap(), tokens);
            let mut client = inside.server.client("a-token-of-the-test");
            let shown =
                client.bash(&format!("cat {path}; cat {}", text(&inside.world.outside().join("config.toml")))).text();
            assert!(!shown.contains("a-token-of-the-test") && !shown.contains("[sandbox]"), "{shown}");
            let shown = client.call("view", json!({"path": path})).text();
            assert!(!shown.contains("a-token-of-the-test"), "{shown}");
        });
    }
}

#[test]
fn over_a_socket_only_its_owner_is_served_and_no_command() {
    http_everywhere(&["--token", "tok", "--listen", "unix:PROJECT/server.sock"], |inside: &HttpInside| {
        let (script, socket) = (script(&inside.world), text(&inside.world.project().join("server.sock")));
        let mode = std::fs::metadata(&socket).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let call = |variables: &str| inside.as_server_user(&format!("{variables} python3 {script} {socket} 0"));
        let outside = call("");
        assert!(outside.contains("200 OK") && outside.contains("mcp-session-id"), "{outside}");
        let outside = call("CALL='echo works'");
        assert!(outside.contains("works"), "{outside}");
        let again = call(&format!("CALL='echo tried; env -u CALL python3 {script} {socket} 0 2>&1'"));
        assert!(again.contains("tried") && !again.contains("mcp-session-id"), "{again}");
    });
}
