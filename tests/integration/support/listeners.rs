use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A program outside the sandbox that listens at many Unix sockets and notes whoever reaches one.
pub struct Listeners {
    process: Child,
    log: PathBuf,
}

/// Binds in every way that a socket can come to be, in the directory that is the first argument. The second is a prefix of
/// the names, also of the abstract ones.
const SCRIPT: &str = r#"
import os, socket, sys, threading
os.umask(0)
os.chdir(sys.argv[1])
prefix = sys.argv[2]
def note(text):
    with open("log", "a") as log:
        log.write(text + "\n")
def listen(name, kind=socket.SOCK_STREAM):
    sock = socket.socket(socket.AF_UNIX, kind)
    sock.bind(name)
    if kind == socket.SOCK_DGRAM:
        serve = lambda: [note("datagram to %r" % name) for _ in iter(lambda: sock.recv(100), None)]
    else:
        sock.listen(100)
        serve = lambda: [note("connection to %r" % name) for _ in iter(sock.accept, None)]
    threading.Thread(target=serve, daemon=True).start()
listen(os.path.join(os.getcwd(), prefix + "absolute.sock"))
listen(prefix + "relative.sock")
listen(prefix + "before.sock")
os.rename(prefix + "before.sock", prefix + "renamed.sock")
listen(prefix + "one.sock")
os.link(prefix + "one.sock", prefix + "linked.sock")
listen(prefix + "packets.sock", socket.SOCK_SEQPACKET)
listen(prefix + "datagrams.sock", socket.SOCK_DGRAM)
listen("\0" + prefix + str(os.getuid()) + sys.argv[1])
print("ready", flush=True)
sys.stdin.read()
"#;

impl Listeners {
    /// `launcher` starts the program, for example in another network namespace.
    pub fn start(directory: &Path, prefix: &str, launcher: &[&str]) -> Self {
        let words: Vec<&str> = launcher.iter().copied().chain(["python3", "-c", SCRIPT]).collect();
        let mut process = Command::new(words[0])
            .args(&words[1..])
            .arg(directory)
            .arg(prefix)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut ready = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        assert_eq!(ready, "ready\n");
        Self { process, log: directory.join("log") }
    }

    /// Who reached a socket, by the names of the sockets.
    pub fn reached(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Listeners {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
