//! Sockets of the session itself work in the sandbox as they do outside: those in the scope, in the temporary directory, of
//! the network, and those that the person has listed.

use crate::support::{Inside, Level, Listeners, everywhere, text};

/// Runs a Python script that must succeed.
#[track_caller]
fn python(inside: &mut Inside, script: &str) -> String {
    inside.does(&format!("cat > t.py <<'E'\nimport array, os, select, signal, socket, struct, threading, time\nfrom socket import *\n{script}\nE\npython3 t.py"))
}

#[test]
fn the_sessions_own_sockets_work() {
    let script = r#"
def pair(name, kind=SOCK_STREAM, connect=None):
    server = socket(AF_UNIX, kind); server.bind(name); server.listen()
    client = socket(AF_UNIX, kind); client.connect(connect or name)
    accepted = server.accept()[0]
    client.send(b"x"); assert accepted.recv(9) == b"x"
    assert client.getpeername() == server.getsockname()
    return client, accepted
os.mkdir("deep"); directory = os.open("deep", os.O_PATH)
os.symlink("deep", "shallow")
pair("here.sock"); pair(os.getcwd() + "/there.sock"); pair(os.environ["TMPDIR"] + "/tmp.sock")
pair("packets.sock", SOCK_SEQPACKET); pair("\0testudo-%d-%d" % (os.getuid(), os.getpid()))
pair("deep/a", connect="shallow/a"); pair("deep/b", connect="/proc/self/fd/%d/b" % directory)
pair("deep/c", connect="/proc/self/cwd/shallow/c"); pair("deep/d", connect="../" + os.path.basename(os.getcwd()) + "/deep/d")
# Descriptors can be passed, connected sockets too.
client, accepted = pair("rights.sock")
left, right = socketpair()
client.sendmsg([b"x"], [(SOL_SOCKET, SCM_RIGHTS, array.array("i", [left.fileno()]))])
passed = array.array("i", accepted.recvmsg(1, CMSG_LEN(4))[1][0][2])
socket(fileno=passed[0]).send(b"y"); assert right.recv(1) == b"y"
# The ends of a pair keep the boundaries of datagrams.
left, right = socketpair(AF_UNIX, SOCK_DGRAM)
left.send(b"one"); left.send(b"three"); assert right.recv(99) == b"one" and right.recv(99) == b"three"
assert not os.get_inheritable(left.fileno())
right.setblocking(False)
try: right.recv(1); assert False
except BlockingIOError: pass
# What is not there, is not there.
for name, wanted in [("nothing", 2), ("deep", 111), ("t.py", 111), ("/nothing/here", 2), ("t.py/x", 20)]:
    errno = socket(AF_UNIX).connect_ex(name)
    assert errno == wanted or name == "deep" and errno == 111, (name, errno)
"#;
    for arguments in [&[][..], &["--network", "off"]] {
        everywhere("", arguments, |inside| {
            python(inside, script);
        });
    }
}

#[test]
fn connections_wait_and_fail_as_outside() {
    let script = r#"
# A listener whose queue is full, in the network and in the file system.
def full(family, address):
    server = socket(family); server.bind(address); server.listen(0)
    waiting = []
    while True:
        client = socket(family); client.setblocking(False)
        errno = client.connect_ex(server.getsockname())
        if errno == 11 or errno == 115 and not select.select([], [client], [], 0.2)[1]: return server, waiting
        waiting.append(client)
def interrupted(*_): raise TimeoutError
signal.signal(signal.SIGALRM, interrupted)
for family, address, late in [(AF_UNIX, "full.sock", 11), (AF_INET, ("127.0.0.1", 0), 115)]:
    server, waiting = full(family, address)
    # A signal handler interrupts the wait.
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try: socket(family).connect(server.getsockname()); assert False
    except TimeoutError: pass
    # So does the time limit of the socket.
    client = socket(family)
    client.setsockopt(SOL_SOCKET, SO_SNDTIMEO, struct.pack("ll", 0, 50000))
    assert client.connect_ex(server.getsockname()) == late
# A caller that waits is connected when there is room, though signals come in between.
server, waiting = full(AF_UNIX, "later.sock")
signal.signal(signal.SIGALRM, lambda *_: None)
signal.siginterrupt(signal.SIGALRM, False)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
def make_room():
    time.sleep(0.05)
    while True: server.accept()
threading.Thread(target=make_room, daemon=True).start()
for _ in range(3): socket(AF_UNIX).connect("later.sock")
network = create_server(("127.0.0.1", 0), backlog=1000)
for _ in range(500): create_connection(network.getsockname()).close()
signal.setitimer(signal.ITIMER_REAL, 0)
# Not blocking, refused, connected twice, not a socket, bad descriptor, bad memory.
client = socket(); client.setblocking(False)
assert client.connect_ex(network.getsockname()) in (0, 115)
assert select.select([], [client], [], 10)[1] and client.getsockopt(SOL_SOCKET, SO_ERROR) == 0
assert client.connect_ex(network.getsockname()) in (0, 106)
free = create_server(("127.0.0.1", 0)); address = free.getsockname(); free.close()
assert socket().connect_ex(address) == 111
assert socket(AF_INET, SOCK_DGRAM).connect_ex(address) == 0
import ctypes
connect = ctypes.CDLL(None, use_errno=True).connect
def errno(*words): connect(*words); return ctypes.get_errno()
assert errno(1, b"\1\0x", 3) in (22, 88) and errno(999, b"\1\0x", 3) == 9
client = socket(AF_UNIX)
assert errno(client.fileno(), ctypes.c_void_p(8), 20) == 14
assert errno(client.fileno(), b"\1\0" + b"x" * 200, 200) == 22
assert errno(client.fileno(), b"\2\0" + b"x" * 14, 16) == 22
"#;
    everywhere("", &[], |inside| {
        python(inside, script);
    });
}

#[test]
fn many_threads_connect_at_once() {
    let script = r#"
server = socket(AF_UNIX); server.bind("many.sock"); server.listen(4096)
def work():
    for _ in range(200):
        with socket(AF_UNIX) as client: client.connect("many.sock")
threads = [threading.Thread(target=work) for _ in range(16)]
[thread.start() for thread in threads]
for _ in range(3200): server.accept()[0].close()
"#;
    everywhere("", &[], |inside| {
        python(inside, script);
    });
}

#[test]
fn a_program_with_a_filter_of_its_own_connects() {
    let script = r#"
import ctypes
libc = ctypes.CDLL(None)
steps = [(0x20, 0, 0, 0), (0x15, 0, 1, 59), (0x06, 0, 0, 0x50026), (0x06, 0, 0, 0x7fff0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
assert libc.prctl(22, 2, struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code)), 0, 0) == 0
server = socket(AF_UNIX); server.bind("own.sock"); server.listen()
socket(AF_UNIX).connect("own.sock")
"#;
    everywhere("", &[], |inside| {
        python(inside, script);
    });
}

#[test]
fn the_peer_sees_the_user_who_connects() {
    for level in [Level::Full, Level::Landlock] {
        let mut inside = Inside::new(level, false, "", &[]);
        if !inside.as_root() {
            return;
        }
        let script = r#"
os.umask(0)
server = socket(AF_UNIX); server.bind("peer.sock"); server.listen()
os.chmod("private.sock" if os.rename("peer.sock", "private.sock") else "private.sock", 0o600)
def connect(user):
    if os.fork() == 0:
        os.setgid(user); os.setuid(user)
        os._exit(socket(AF_UNIX).connect_ex("private.sock"))
    return os.waitstatus_to_exitcode(os.wait()[1])
assert connect(65534) == 13
os.chmod("private.sock", 0o666)
for user in [0, 65534]:
    assert connect(user) == 0
    peer = struct.unpack("iII", server.accept()[0].getsockopt(SOL_SOCKET, SO_PEERCRED, 12))
    assert peer[1:] == (user, user), peer
"#;
        inside.does("chmod 755 . ");
        python(&mut inside, script);
    }
}

#[test]
fn a_listed_socket_is_reachable_even_after_its_program_starts_again() {
    everywhere("", &[], |inside| {
        let outside = inside.world.outside();
        let path = text(&outside.join("absolute.sock"));
        let connect = format!("python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"{path}\")'");
        let other = connect.replace("absolute", "one");
        let config = outside.join("config.toml");
        let settings = std::fs::read_to_string(&config).unwrap();
        std::fs::write(&config, format!("{settings}sockets = [\"{path}\"]\n")).unwrap();
        inside.reconnect(&["--config", &text(&config)]);
        inside.cannot(&connect);
        for _ in 0..2 {
            let listeners = Listeners::start(&outside, "", &[]);
            inside.does(&connect);
            inside.cannot(&other);
            drop(listeners);
            for name in std::fs::read_dir(&outside).unwrap().flatten().map(|entry| entry.path()) {
                if name.extension().is_some_and(|extension| extension == "sock") {
                    std::fs::remove_file(name).unwrap();
                }
            }
        }
    });
}
