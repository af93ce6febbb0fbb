//! Ways around `--network hosts` that lead over other programs: the server itself, proxies of others, and processes that an
//! earlier session left behind. What counts is whether the other program has seen anybody.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::json;

use crate::support::{Inside, Level, each_case, everywhere, http_everywhere, text, until};

/// A port that nobody uses now.
fn free() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Asks the proxy for a tunnel and then for `/health`, and prints the first line of the answer.
fn ask_proxy(host: &str, port: u16) -> String {
    format!(
        "exec 3<>/dev/tcp/127.0.0.1/${{HTTP_PROXY##*:}}; printf 'CONNECT {host}:{port} HTTP/1.1\\r\\n\\r\\nGET /health \
         HTTP/1.1\\r\\nHost: {host}:{port}\\r\\n\\r\\n' >&3; timeout 20 head -1 <&3"
    )
}

/// Without a token, every program that reaches the port is a client. The person has even named the port.
#[test]
fn the_proxy_never_leads_to_the_server_itself() {
    let port = free();
    let own = format!("127.0.0.1:{port}");
    let named = [own.clone(), format!("localhost:{port}"), format!("[::1]:{port}"), format!("0.0.0.0:{port}")];
    let mut arguments = vec!["--no-auth", "--network", "hosts", "--listen", &own];
    named.iter().for_each(|host| arguments.extend(["--allow-host", host.as_str()]));
    http_everywhere(&arguments, |inside| {
        let mut client = inside.server.client("");
        for host in ["127.0.0.1", "localhost", "0.0.0.0", "[::ffff:127.0.0.1]", "[::1]", "LOCALHOST."] {
            let answer = client.bash(&ask_proxy(host, port)).ok();
            assert!(
                answer.contains("HTTP/1.1 403") && answer.contains("testudo itself listens there"),
                "{host}: {answer}"
            );
        }
        // A path of a socket is no host.
        let answer = client.bash(&ask_proxy("unix:/run/testudo.sock", port)).ok();
        assert!(answer.contains("HTTP/1.1 400"), "{answer}");
    });
}

#[test]
fn a_session_cannot_use_the_proxy_of_another_session() {
    for nobody in [false, true] {
        let mut inside = Inside::new(Level::Landlock, nobody, "", &["--network", "hosts"]);
        let port = inside.does("echo ${HTTP_PROXY##*:}").trim().to_owned();
        let other = inside.client.call("bash", json!({ "command": "echo ${HTTP_PROXY##*:}", "session": "b" })).stdout();
        assert_ne!(port, other.trim());
        let connect = format!("exec 3<>/dev/tcp/127.0.0.1/{}", other.trim());
        let refused = inside.cannot(&connect);
        assert!(refused.contains("through the proxy only"), "{refused}");
    }
}

/// Stands for a proxy of the person, or of another sandbox: takes connections, answers as a proxy would, and counts.
fn stand_in(listener: UnixListener) -> Arc<Mutex<usize>> {
    let count = Arc::new(Mutex::new(0));
    let counted = count.clone();
    std::thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            *counted.lock().unwrap() += 1;
            let _ = connection.read(&mut [0; 4096]);
            let _ = connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\nConnection: close\r\n\r\nreached\n");
        }
    });
    count
}

fn open_to_all(path: &Path) -> UnixListener {
    use std::os::unix::fs::PermissionsExt;
    let listener = UnixListener::bind(path).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).unwrap();
    listener
}

#[test]
fn unix_sockets_of_other_proxies_are_out_of_reach() {
    everywhere("", &["--network", "hosts"], |inside| {
        let host_tmp = tempfile::Builder::new().prefix("proxy-").tempdir_in("/tmp").unwrap();
        std::fs::set_permissions(host_tmp.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let directories = [inside.world.outside(), inside.world.home(), host_tmp.path().to_owned()];
        let paths: Vec<_> = directories.iter().map(|directory| directory.join("proxy.sock")).collect();
        let mut seen: Vec<_> = paths.iter().map(|path| stand_in(open_to_all(path))).collect();
        let name = format!("testudo-test-{}-{}", std::process::id(), free());
        let address = <std::os::unix::net::SocketAddr as std::os::linux::net::SocketAddrExt>::from_abstract_name(&name);
        seen.push(stand_in(UnixListener::bind_addr(&address.unwrap()).unwrap()));
        for path in &paths {
            let curl = format!("curl -sS -m 10 --unix-socket {} http://evil.test/", text(path));
            inside.cannot(&curl);
        }
        inside.cannot(&format!("curl -sS -m 10 --abstract-unix-socket {name} http://evil.test/"));
        assert!(seen.iter().all(|count| *count.lock().unwrap() == 0));
    });
}

/// Leaves its command by all means, and answers at a TCP port and at Unix sockets: one in the project, one in the temporary
/// directory, an abstract one. Every connection is noted in the file `relayed`.
const RELAY: &str = r#"
import os, signal, socket, sys, threading
port, name = int(sys.argv[1]), sys.argv[2]
for number in [signal.SIGTERM, signal.SIGHUP, signal.SIGINT]:
    signal.signal(number, signal.SIG_IGN)
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
def serve(family, address):
    server = socket.socket(family)
    server.bind(address)
    server.listen()
    def answer():
        while True:
            client, _ = server.accept()
            open("relayed", "a").write(repr(address) + "\n")
            client.recv(4096)
            client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nout")
            client.close()
    threading.Thread(target=answer).start()
serve(socket.AF_INET, ("127.0.0.1", port))
serve(socket.AF_UNIX, "relay.sock")
serve(socket.AF_UNIX, os.environ.get("TMPDIR", "/tmp") + "/relay.sock")
serve(socket.AF_UNIX, "\0" + name)
open("ready", "w")
"#;

/// The configuration begins with the network on, and the relay is started.
fn with_relay(level: Level, nobody: bool) -> (Inside, u16, String) {
    let mut inside = Inside::new(level, nobody, "[network]\nmode = \"on\"", &[]);
    inside.world.file("relay.py", RELAY);
    let (port, name) = (free(), format!("testudo-relay-{}-{}", std::process::id(), free()));
    let command = format!("python3 relay.py {port} {name} & sleep 1000");
    inside.client.call("bash", json!({ "command": command, "run_in_background": true })).ok();
    until("the relay", || inside.world.project().join("ready").exists().then_some(()));
    inside.does(&format!(
        "curl -sS --noproxy '*' http://127.0.0.1:{port}/ && curl -sS --unix-socket relay.sock http://evil.test/"
    ));
    std::fs::remove_file(inside.world.project().join("relayed")).unwrap();
    (inside, port, name)
}

fn only_hosts(inside: &Inside) {
    let config = inside.world.outside().join("config.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, text.replace("mode = \"on\"", "mode = \"hosts\"")).unwrap();
}

#[test]
fn no_process_of_an_earlier_server_with_the_network_on_is_left_to_relay() {
    each_case(|level, nobody| {
        let (mut inside, port, _) = with_relay(level, nobody);
        only_hosts(&inside);
        inside.restart();
        until("the relay to end", || TcpStream::connect(("127.0.0.1", port)).is_err().then_some(()));
        assert!(UnixStream::connect(inside.world.project().join("relay.sock")).is_err());
        // We may have reached it ourselves, while it was ending.
        let _ = std::fs::remove_file(inside.world.project().join("relayed"));
        inside.cannot("curl -sS --unix-socket relay.sock http://evil.test/");
        assert!(!inside.world.project().join("relayed").exists());
    });
}

/// A session keeps the network that it began with. A session that begins later does not reach what runs there.
#[test]
fn a_later_session_does_not_reach_a_process_of_an_earlier_one_with_the_network_on() {
    each_case(|level, nobody| {
        let (mut inside, port, name) = with_relay(level, nobody);
        let tmp = inside.does("echo ${TMPDIR:-/tmp}").trim().to_owned();
        only_hosts(&inside);
        for command in [
            format!("curl -sSf -m 10 --noproxy '*' http://127.0.0.1:{port}/"),
            format!("curl -sSf -m 10 http://127.0.0.1:{port}/ --noproxy ''"),
            format!("curl -sSf -m 10 --abstract-unix-socket {name} http://evil.test/"),
            format!("curl -sSf -m 10 --unix-socket {tmp}/relay.sock http://evil.test/"),
        ] {
            let reply = inside.client.call("bash", json!({ "command": command, "session": "later" }));
            assert_ne!(reply.field("exit_code").as_deref(), Some("0"), "{command}: {}", reply.text());
        }
        assert!(!inside.world.project().join("relayed").exists());
    });
}
