//! Servers, gateways and the directory in which they live. They end with the test.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::http_client::Client;

pub const GATEWAY: &str = env!("CARGO_BIN_EXE_testudo-gateway");
const PLACE_TOKEN: &str = "place-token";
const PATIENCE: Duration = Duration::from_mins(2);

/// The server of the main package, which the whole workspace builds beside the gateway.
pub fn testudo() -> PathBuf {
    let path = Path::new(GATEWAY).with_file_name("testudo");
    assert!(path.exists(), "{} is missing: run `cargo build` or test with --workspace", path.display());
    path
}

#[track_caller]
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begin.elapsed() < PATIENCE, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

pub struct World(tempfile::TempDir);

impl World {
    pub fn new() -> Self {
        let world = Self(tempfile::tempdir().unwrap());
        std::fs::create_dir(world.path("home")).unwrap();
        world.write("tokens", "alice alice-token\nbob bob-token\n");
        world.write("place-token", PLACE_TOKEN);
        world
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, content: &str) {
        std::fs::write(self.path(name), content).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.0.path()).env("HOME", self.path("home")).env_remove("XDG_RUNTIME_DIR");
        command
    }

    /// A server in a project of its own, as somebody else may run it.
    pub fn server(&self, name: &str) -> Program {
        self.server_at(name, "127.0.0.1:0")
    }

    pub fn server_at(&self, name: &str, listen: &str) -> Program {
        std::fs::create_dir_all(self.path(name)).unwrap();
        let mut command = self.command(&testudo());
        command.args(["--transport", "http", "--listen", listen, "--sandbox", "off", "--workdir"]);
        command.arg(self.path(name)).args(["--token", PLACE_TOKEN]);
        command.env("XDG_STATE_HOME", self.path(&format!("{name}-state")));
        Program::start(command, "testudo listens on http://")
    }

    /// A gateway in front of servers. All gateways of a world are replicas: they have the same key.
    pub fn gateway(&self, servers: &[&Program], limits: &str) -> Program {
        let addresses = servers.iter().map(|server| server.address.as_str()).collect::<Vec<_>>();
        self.gateway_to(&addresses, limits)
    }

    pub fn gateway_to(&self, addresses: &[&str], limits: &str) -> Program {
        let urls = addresses.iter().map(|address| format!("\"http://{address}/mcp\""));
        let urls = urls.collect::<Vec<_>>().join(", ");
        let path = |name: &str| self.path(name).display().to_string();
        let place = |name: &str, more: &str| {
            format!(
                "[[place]]\nname = \"{name}\"\nplace = [{urls}]\nplace_token_file = \"{}\"\n{more}\n",
                path("place-token")
            )
        };
        let files = format!(
            "token_file = \"{}\"\nkey_file = \"{}\"\ndirectory = \"{}\"\n",
            path("tokens"),
            path("key"),
            path("run")
        );
        let places = place("work", "") + &place("alices", "owners = [\"alice\"]");
        let text = format!("{files}[limits]\n{limits}\n{places}");
        self.write("places.toml", &text);
        let mut command = self.command(Path::new(GATEWAY));
        command.args(["serve", "--verbose", "--listen", "127.0.0.1:0", "--places"]).arg(self.path("places.toml"));
        Program::start(command, "testudo-gateway listens on http://")
    }
}

pub struct Program {
    child: Child,
    log: Arc<Mutex<String>>,
    /// `127.0.0.1:PORT`.
    pub address: String,
}

impl Program {
    /// A server that was started in a way of its own.
    pub fn announced(command: Command) -> Self {
        Self::start(command, "testudo listens on http://")
    }

    fn start(mut command: Command, announcement: &str) -> Self {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let (errors, log) = (BufReader::new(child.stderr.take().unwrap()), Arc::new(Mutex::new(String::new())));
        let kept = log.clone();
        std::thread::spawn(move || {
            for line in errors.lines().map_while(Result::ok) {
                kept.lock().unwrap().push_str(&format!("{line}\n"));
            }
        });
        let mut program = Self { child, log, address: String::new() };
        program.address = until(announcement, || {
            let log = program.log();
            assert!(program.child.try_wait().unwrap().is_none(), "it has ended: {log}");
            let (_, rest) = log.split_once(announcement)?;
            Some(rest.split_once("/mcp")?.0.to_owned())
        });
        program
    }

    pub fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// A figure of `/proc/PID/status`, in bytes.
    pub fn status(&self, name: &str) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).unwrap();
        line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap() << 10
    }

    pub fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.pid().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub fn wait(&mut self) -> i32 {
        until("the program to end", || self.child.try_wait().unwrap()).code().unwrap_or(-1)
    }

    /// A client of 2025-11-25.
    pub fn client(&self, token: &str) -> Client {
        Client::begin(&self.address, token)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
