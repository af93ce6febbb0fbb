//! Ways around `--network hosts`. Each is refused or contained at both levels, as root and as an ordinary user; what counts
//! is what the hosts have seen.

use serde_json::json;

use crate::support::{Wish, on_the_internet, until};

/// Everything is allowed by name, and nothing by address: names must not lead to this machine or its neighbours.
fn every_name() -> Wish<'static> {
    Wish::arguments(&["--allow-host", "*"])
}

fn one_name() -> Wish<'static> {
    Wish::arguments(&["--allow-host", "allowed.test"])
}

/// Ways to the network that do not use the proxy. Prints those that got somewhere.
const AROUND: &str = r#"
import ctypes, os, socket, struct
def tried(name, attempt):
    try:
        attempt()
        print("worked:", name)
    except OSError:
        pass
def stream(family, address):
    with socket.socket(family, socket.SOCK_STREAM) as s:
        s.settimeout(2)
        s.connect(address)
def datagram(family, address, kind=socket.SOCK_DGRAM, protocol=0):
    query = b"\0\1\1\0\0\1\0\0\0\0\0\0\4leak\4test\0\0\1\0\1"
    with socket.socket(family, kind, protocol) as s:
        s.settimeout(1)
        s.sendto(query, address)
        s.recv(100)
def fast(address, call):
    with socket.socket() as s:
        if call == "sendto":
            s.sendto(b"GET /fast HTTP/1.0\r\n\r\n", 0x20000000, address)
        else:
            s.sendmsg([b"GET /fast HTTP/1.0\r\n\r\n"], [], 0x20000000, address)
def deferred(address):
    # The kernel connects with the first bytes, which come with another address.
    with socket.socket() as s:
        s.setsockopt(socket.IPPROTO_TCP, 30, 1)
        s.connect(("127.0.0.1", int(os.environ["HTTP_PROXY"].rsplit(":", 1)[1])))
        s.sendto(b"GET /deferred HTTP/1.0\r\n\r\n", address)
        if s.getpeername() != address: raise OSError
public, inner = "93.184.216.35", "127.0.0.1"
for address in [public, inner, "0.0.0.0", "10.0.0.1", "169.254.169.254"]:
    tried("tcp " + address, lambda: stream(socket.AF_INET, (address, 80)))
    tried("mapped " + address, lambda: stream(socket.AF_INET6, ("::ffff:" + address, 80)))
    tried("udp " + address, lambda: datagram(socket.AF_INET, (address, 53)))
    tried("raw " + address, lambda: datagram(socket.AF_INET, (address, 0), socket.SOCK_RAW, 1))
    tried("icmp " + address, lambda: datagram(socket.AF_INET, (address, 0), socket.SOCK_DGRAM, 1))
    tried("sctp " + address, lambda: datagram(socket.AF_INET, (address, 80), socket.SOCK_STREAM, 132))
    tried("deferred " + address, lambda: deferred((address, 80)))
    for call in ["sendto", "sendmsg"]:
        tried("fast " + call + address, lambda: fast((address, 80), call))
for name in ["other.test", "allowed.test", "leak.test"]:
    tried("lookup " + name, lambda: socket.getaddrinfo(name + "", 80) if name != "localhost" else None)
for address in ["::1", "::", "2001:db8::1", "fe80::1"]:
    tried("tcp " + address, lambda: stream(socket.AF_INET6, (address, 80)))
    tried("udp " + address, lambda: datagram(socket.AF_INET6, (address, 53)))
    tried("raw " + address, lambda: datagram(socket.AF_INET6, (address, 0), socket.SOCK_RAW, 58))
tried("packet", lambda: socket.socket(17, socket.SOCK_RAW, 3).recv(10))
tried("netfilter", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12))
tried("vsock", lambda: socket.socket(40, socket.SOCK_STREAM).connect((2, 80)))
"#;

#[test]
fn there_is_no_way_but_the_proxy() {
    on_the_internet(one_name, |internet| {
        internet.world.file("around.py", AROUND);
        let found = internet.bash("python3 around.py").ok();
        // Names in /etc/hosts are no secret, and looking them up asks nobody.
        let worked: Vec<&str> =
            found.lines().filter(|line| line.starts_with("worked: ") && !line.contains("lookup")).collect();
        assert!(worked.is_empty(), "{worked:?}");
        assert!(!found.contains("worked: lookup leak.test"), "{found}");
        assert_eq!(internet.reached(), "");
        for direct in [
            "curl -sS -m 5 --noproxy '*' http://other.test/ || echo kept in",
            "NO_PROXY='*' no_proxy='*' curl -sS -m 5 http://allowed.test/ || echo kept in",
        ] {
            assert!(internet.does(direct).starts_with("kept in\n"), "{direct}");
        }
        assert_eq!(internet.reached(), "");
        assert_eq!(internet.does("curl -sS http://allowed.test/"), "hello from allowed.test\n");
    });
}

#[test]
fn no_name_and_no_spelling_leads_to_this_machine_or_its_neighbours() {
    on_the_internet(every_name, |internet| {
        assert_eq!(internet.does("curl -sS http://other.test/"), "hello from other.test\n");
        let before = internet.reached();
        for host in [
            "loop.test",
            "private.test",
            "metadata.test",
            "127.0.0.1",
            "10.0.0.1",
            "169.254.169.254",
            "0.0.0.0",
            "2130706433",
            "0177.0.0.1",
            "0x7f.1",
            "127.1",
            "127.0.0.1.",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "[::ffff:7f00:1]",
            "[64:ff9b::7f00:1]",
            "[::]",
        ] {
            // Both ways of asking; curl would put addresses into its usual form, so the proxy is asked directly.
            for request in
                [format!("CONNECT {host}:80 HTTP/1.1"), format!("GET http://{host}/ HTTP/1.1\\r\\nHost: {host}")]
            {
                let command = format!(
                    "exec 3<>/dev/tcp/127.0.0.1/${{HTTP_PROXY##*:}}; printf '{request}\\r\\n\\r\\n' >&3; head -1 <&3"
                );
                let answer = internet.does(&command);
                assert!(answer.starts_with("HTTP/1.1 40"), "{request}: {answer}");
            }
        }
        assert_eq!(internet.reached(), before);
    });
}

#[test]
fn a_name_that_changes_its_address_is_held_to_the_checked_one() {
    on_the_internet(every_name, |internet| {
        assert_eq!(internet.does("curl -sS http://rebind.test/"), "hello from rebind.test\n");
        let refused = internet.bash("curl -sS http://rebind.test/").ok();
        assert!(refused.contains("its address is 127.0.0.1, a loopback address"), "{refused}");
        assert_eq!(internet.reached().matches("GET rebind.test").count(), 1);
    });
}

#[test]
fn a_tunnel_is_for_the_host_that_was_asked_for() {
    on_the_internet(one_name, |internet| {
        let certificate = internet.certificate();
        // TLS: another name, no name, and the right one.
        let tls = |name: &str| {
            format!(
                "printf 'GET /tls HTTP/1.0\\r\\n\\r\\n' | timeout 20 openssl s_client -quiet -proxy 127.0.0.1:${{HTTP_PROXY##*:}} \
                 -connect allowed.test:443 {name} -CAfile {certificate} 2>&1"
            )
        };
        let refused = internet.bash(&tls("-servername evil.test")).ok();
        assert!(refused.contains("the TLS client asks for another host, evil.test"), "{refused}");
        let refused = internet.bash(&tls("-noservername")).ok();
        assert!(refused.contains("the TLS client names no host"), "{refused}");
        assert_eq!(internet.reached(), "");
        assert!(internet.bash(&tls("-servername allowed.test")).ok().contains("hello from"));
        // Plain HTTP in a tunnel: another host, a tunnel in the tunnel, a second request behind the first.
        let speak = |text: &str| {
            format!(
                "exec 3<>/dev/tcp/127.0.0.1/${{HTTP_PROXY##*:}}; printf 'CONNECT allowed.test:80 HTTP/1.1\\r\\n\\r\\n{text}' >&3; timeout \
                 5 cat <&3; true"
            )
        };
        let before = internet.reached();
        for text in [
            "GET / HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n",
            "GET http://evil.test/ HTTP/1.1\\r\\nHost: allowed.test\\r\\n\\r\\n",
            "CONNECT evil.test:443 HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n",
            // Servers that are lenient would understand these too.
            "GET\\t/ HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n",
            "G3T_ / HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n",
            "\\r\\n\\r\\nGET / HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n",
        ] {
            let refused = internet.bash(&speak(text)).ok();
            assert!(refused.contains("was broken off"), "{text} {refused}");
        }
        assert_eq!(internet.reached(), before);
        let two =
            "GET /one HTTP/1.1\\r\\nHost: allowed.test\\r\\n\\r\\nGET /two HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n";
        let answered = internet.bash(&speak(two)).ok();
        assert!(answered.contains("hello from allowed.test"), "{answered}");
        // A client that goes on speaking when it has its answer does not die of that.
        let request = "GET /late HTTP/1.1\\r\\nHost: allowed.test\\r\\n\\r\\n";
        let late = speak(request).replace("; true", "; for i in 1 2 3 4; do printf more >&3; done; echo alive");
        let answered = internet.bash(&late).ok();
        assert!(answered.contains("hello from allowed.test") && answered.contains("alive"), "{answered}");
        // A server that does not know the other protocol would take what follows for a further request.
        for request in ["GET /three", "GET http://allowed.test/three"] {
            let upgrade = format!(
                "{request} HTTP/1.1\\r\\nHost: allowed.test\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\n\\r\\nGET /four \
                 HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n"
            );
            internet.bash(&speak(&upgrade)).ok();
            assert!(internet.reached().contains("GET allowed.test /three"), "{}", internet.reached());
        }
        let differing = "exec 3<>/dev/tcp/127.0.0.1/${HTTP_PROXY##*:}; printf 'GET http://allowed.test/ HTTP/1.1\\r\\nHost: \
                         evil.test\\r\\n\\r\\n' >&3; head -1 <&3";
        assert!(internet.does(differing).starts_with("HTTP/1.1 400"));
        assert!(!internet.reached().contains("evil.test"), "{}", internet.reached());
    });
}

/// A relay inside, as an agent could start one.
const RELAY: &str = r#"
import os, socket, threading
proxy = ("127.0.0.1", int(os.environ["HTTP_PROXY"].rsplit(":", 1)[1]))
server = socket.create_server(("127.0.0.1", 0))
def copy(a, b):
    while data := a.recv(4096): b.sendall(data)
    b.shutdown(socket.SHUT_WR)
def serve():
    client, _ = server.accept()
    out = socket.create_connection(proxy)
    threading.Thread(target=copy, args=(client, out), daemon=True).start()
    copy(out, client)
threading.Thread(target=serve, daemon=True).start()
try:
    client = socket.create_connection(server.getsockname())
    client.sendall(b"CONNECT evil.test:80 HTTP/1.1\r\n\r\n")
    print(client.recv(4096).split(b"\r\n")[0].decode())
except OSError as error:
    print("HTTP/1.1 403 at level landlock:", error)
"#;

#[test]
fn a_relay_inside_and_many_connections_at_once_are_contained() {
    on_the_internet(one_name, |internet| {
        internet.world.file("relay.py", RELAY);
        assert!(internet.does("python3 relay.py").starts_with("HTTP/1.1 403"));
        internet.world.file(
            "many.py",
            "import os, socket\nproxy = ('127.0.0.1', int(os.environ['HTTP_PROXY'].rsplit(':', 1)[1]))\nall = []\nfor i in \
             range(1000):\n    s = socket.socket()\n    s.setblocking(False)\n    s.connect_ex(proxy)\n    all.append(s)\nfor s in \
             all[:500]:\n    try: s.send(b'GET http://allowed.test/ HTTP/1.1\\r\\n')\n    except OSError: pass\nprint(len(all))\n",
        );
        assert_eq!(internet.does("python3 many.py"), "1000\n");
        assert_eq!(internet.does("curl -sS http://allowed.test/"), "hello from allowed.test\n");
        assert!(!internet.reached().contains("evil.test"), "{}", internet.reached());
    });
}

/// Sends the head of a request, or a part of it, on each of many connections, and waits.
const GREEDY: &str = r#"
import os, socket, time
proxy = ("127.0.0.1", int(os.environ["HTTP_PROXY"].rsplit(":", 1)[1]))
all = [socket.create_connection(proxy) for _ in range(250)]
for number, connection in enumerate(all):
    connection.sendall(b"CONNECT a%d.slow.test:80 HTTP/1.1\r\n\r\n" % number if number % 2 else b"GET http://allowed.test")
open("greedy", "w")
time.sleep(1000)
"#;

#[test]
fn a_session_that_waits_for_slow_peers_keeps_no_other_session_from_its_hosts() {
    on_the_internet(every_name, |internet| {
        internet.world.file("greedy.py", GREEDY);
        let arguments = json!({ "command": "python3 greedy.py", "run_in_background": true, "session": "greedy" });
        internet.client.call("bash", arguments).ok();
        until("its connections", || internet.world.project().join("greedy").exists().then_some(()));
        assert_eq!(internet.does("curl -sS http://allowed.test/"), "hello from allowed.test\n");
    });
}
