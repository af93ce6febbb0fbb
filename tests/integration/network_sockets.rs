//! In the modes `hosts` and `off`, Unix sockets of the session work as ever, and those of other programs are out of reach even
//! in the project: their programs may use the network. What counts is whether such a program saw somebody.

use crate::sandbox_sockets::{ATTACK, RACE};
use crate::support::{Inside, Listeners, everywhere, until};

const MODES: [&[&str]; 2] = [&["--network", "off"], &["--network", "hosts"]];

fn in_each_mode(settings: &str, check: impl Fn(&mut Inside)) {
    MODES.iter().for_each(|mode| everywhere(settings, mode, &check));
}

/// A name for `unshare`, which puts a program into a network of its own.
fn elsewhere() -> [&'static str; 2] {
    ["unshare", if rustix::process::getuid().is_root() { "-n" } else { "-Urn" }]
}

#[test]
fn other_programs_sockets_in_the_project_are_unreachable() {
    in_each_mode("", |inside| {
        let project = inside.world.project();
        let _before = Listeners::start(&project, "a-", &[]);
        inside.does("true");
        let _later = Listeners::start(&project, "b-", &[]);
        let listeners = Listeners::start(&project, "c-", &elsewhere());
        inside.world.file("attack.py", ATTACK);
        let found = inside.does("chmod 777 . 2>/dev/null; python3 attack.py $PWD a- b- c-");
        assert_eq!((found.as_str(), listeners.reached().as_str()), ("", ""));
    });
}

/// Tries to have the sockets of the program outside taken for sockets of the session. The names of its sockets follow.
const PRETEND: &str = r#"
import os, socket, sys
def outcome(name, act):
    try:
        act()
        print("connected:", name)
    except OSError as error:
        if error.errno != 13: print(name, error)
def connect(path): socket.socket(socket.AF_UNIX).connect(path)
def bound(path):
    own = socket.socket(socket.AF_UNIX)
    own.bind(path)
    return own
first, second, third, fourth = sys.argv[1:]
# Ours listens only when theirs has its name.
own = bound("x"); os.rename("x", "y"); os.rename(first, "x"); own.listen()
outcome("before listening", lambda: connect("x"))
connect("y") if os.environ["LEVEL"] == "Full" else None
# Theirs gets the name of ours afterwards, by renaming and by a link.
own = bound("z"); own.listen(); connect("z"); os.rename(second, "z")
outcome("after listening", lambda: connect("z"))
own = bound("v"); own.listen(); os.unlink("v")
# An ordinary user cannot link the file of another user everywhere.
try: os.link(third, "v")
except OSError: os.symlink(third, "v")
outcome("linked", lambda: connect("v"))
# The number of our file may become free for theirs; and a socket of ours may lie beside theirs.
for _ in range(50):
    own = bound("w"); own.listen(); own.close(); os.unlink("w")
outcome("plain", lambda: connect(fourth))
"#;

#[test]
fn a_socket_of_another_program_cannot_be_passed_off_as_the_sessions() {
    in_each_mode("", |inside| {
        let project = inside.world.project();
        let listeners = Listeners::start(&project, "", &elsewhere());
        inside.world.file("pretend.py", PRETEND);
        let names = "absolute.sock relative.sock renamed.sock one.sock";
        let printed = inside.does(&format!("LEVEL={:?} python3 pretend.py {names}", inside.level));
        assert_eq!((printed.as_str(), listeners.reached().as_str()), ("", ""));
    });
}

#[test]
fn swapping_names_in_the_project_meanwhile_reaches_nothing() {
    in_each_mode("", |inside| {
        let listeners = Listeners::start(&inside.world.project(), "", &[]);
        inside.world.file("race.c", RACE);
        inside.does("gcc -pthread -w race.c -o race");
        for mode in 0..2 {
            let reached = inside.does(&format!("rm -f link; ./race {mode} 500 $PWD/absolute.sock 9"));
            assert_ne!(reached.trim(), "0", "its own socket");
            assert_eq!(listeners.reached(), "", "mode {mode}");
        }
    });
}

#[test]
fn a_refusal_says_why_and_a_listed_socket_is_reachable() {
    let connect = "python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"absolute.sock\")'";
    in_each_mode("", |inside| {
        let project = inside.world.project();
        let path = project.join("absolute.sock");
        let listeners = Listeners::start(&project, "", &[]);
        let why = format!(
            "[sandbox: the Unix socket {} is not one of this session's own, so commands cannot connect to it unless the network is \
             on (sandbox.sockets lists exceptions)]",
            path.display()
        );
        let shown = inside.cannot(connect);
        assert_eq!(shown.lines().last(), Some(why.as_str()), "{shown}");
        let config = inside.world.outside().join("config.toml");
        let settings = std::fs::read_to_string(&config).unwrap();
        std::fs::write(&config, format!("{settings}sockets = [\"{}\"]\n[network]\nmode = \"off\"\n", path.display()))
            .unwrap();
        inside.restart();
        inside.does(connect);
        until("the listener's note", || (!listeners.reached().is_empty()).then_some(()));
        // What a program has left behind is as good as nothing.
        drop(listeners);
        let shown = inside.cannot(&connect.replace("absolute", "one"));
        assert!(shown.contains("Connection refused") && !shown.contains("[sandbox"), "{shown}");
    });
}

/// Programs that talk to each other by a socket: in one command, and from one command to the next.
#[test]
fn the_sessions_own_servers_are_reached_from_every_command() {
    in_each_mode("", |inside| {
        let serve = "import socket, sys\ns = socket.socket(socket.AF_UNIX)\ns.bind(sys.argv[1])\ns.listen()\nwhile True:\n    \
                     c = s.accept()[0]\n    c.sendall(c.recv(9))\n    c.close()";
        inside.world.file("serve.py", serve);
        let ask = |name: &str| {
            format!(
                "python3 -c 'import socket, time\nfor _ in range(600):\n  s = socket.socket(socket.AF_UNIX)\n  if s.connect_ex(\"{name}\") \
                 == 0: break\n  time.sleep(0.05)\ns.sendall(b\"hello\"); print(s.recv(9).decode())'"
            )
        };
        for name in ["own.sock", "/tmp/own.sock"] {
            let name =
                if name.starts_with('/') { inside.does("echo -n ${TMPDIR:-/tmp}/own.sock") } else { name.to_owned() };
            let arguments =
                serde_json::json!({ "command": format!("python3 serve.py {name}"), "run_in_background": true });
            inside.client.call("bash", arguments).ok();
            assert_eq!(inside.does(&ask(&name)), "hello\n");
            // A name that was given later leads to it too.
            assert_eq!(inside.does(&format!("mv {name} {name}.2; {}", ask(&format!("{name}.2")))), "hello\n");
        }
    });
}

/// The client looks for each socket until it is there, so it often looks at the very moment at which it comes.
#[test]
fn a_socket_that_comes_this_moment_is_the_sessions_own() {
    let script = "import socket, threading\ndef serve():\n    for number in range(300):\n        s = socket.socket(socket.AF_UNIX); \
                  s.bind('m%d' % number); s.listen(); s.accept()\nthreading.Thread(target=serve).start()\nfor number in range(300):\n    while \
                  socket.socket(socket.AF_UNIX).connect_ex('m%d' % number): pass";
    in_each_mode("", |inside| {
        inside.world.file("moment.py", script);
        assert_eq!(inside.does("python3 moment.py; echo done"), "done\n");
    });
}

/// One listens, connects and ends, again and again. None of it may wear out the supervisor.
#[test]
fn sockets_come_and_go_without_end() {
    let script = "import os, socket\nfor number in range(600):\n    s = socket.socket(socket.AF_UNIX); s.bind(\"n%d\" % number); s.listen()\n    \
                  c = socket.socket(socket.AF_UNIX); c.connect(\"n%d\" % number); c.close(); s.close()\n    if number % 2: os.unlink(\"n%d\" % number)";
    in_each_mode("", |inside| {
        inside.world.file("many.py", script);
        inside.does("python3 many.py");
    });
}

/// A real agent, and a real client of a web server.
#[test]
fn real_programs_with_sockets_of_their_own_work() {
    in_each_mode("", |inside| {
        // At level `landlock` the agent lets no ordinary user look into it, so nothing shows whose socket it is.
        if inside.level == crate::support::Level::Full || inside.as_root() {
            inside.does("ssh-keygen -q -t ed25519 -N '' -f key && eval $(ssh-agent -a agent.sock) > /dev/null && ssh-add -q key && ssh-add -l && ssh-agent -k");
        }
        inside.does(
            "python3 -c '
import http.server, socketserver, subprocess, threading
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self): self.send_response(200); self.end_headers(); self.wfile.write(b\"hello\")
    def address_string(self): return \"\"
    def log_message(self, *words): pass
server = socketserver.UnixStreamServer(\"web.sock\", Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
assert subprocess.run([\"curl\", \"-sS\", \"--unix-socket\", \"web.sock\", \"http://localhost/\"], capture_output=True).stdout == b\"hello\"
'",
        );
    });
}
