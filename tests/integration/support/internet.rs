use std::path::PathBuf;
use std::process::Command;

use super::inside::{each_case, user_words};
use super::launch::NOBODY;
use super::{Client, Level, Reply, StartOptions, User, World, text};

/// A server in a network of the test's own, which has hosts with public addresses. All of them are this machine.
pub struct Internet {
    pub world: World,
    pub client: Client,
    pub level: Level,
    nobody: bool,
}

/// What a test wants.
pub struct Wish<'a> {
    /// More lines of the configuration file, after the table `[sandbox]`.
    pub settings: &'a str,
    pub arguments: &'a [&'a str],
    pub options: StartOptions,
}

impl<'a> Wish<'a> {
    pub fn arguments(arguments: &'a [&'a str]) -> Self {
        Self { settings: "", arguments, options: StartOptions::default() }
    }
}

/// Names and addresses. Every other name is looked up by the DNS server of `hosts.py`.
const HOSTS: &str = "127.0.0.1 localhost loop.test\n93.184.216.34 allowed.test a.sub.test registry.test\n\
                     93.184.216.35 other.test evil.test\n10.0.0.1 private.test\n169.254.169.254 metadata.test\n";
const ADDRESSES: [&str; 4] = ["93.184.216.34/32", "93.184.216.35/32", "10.0.0.1/32", "169.254.169.254/32"];

impl Internet {
    /// At this level, as root or as an ordinary user.
    pub fn new(level: Level, nobody: bool, wish: Wish<'_>) -> Self {
        let world = if nobody { World::for_user(NOBODY) } else { World::new() };
        let outside = world.outside();
        let place = |name: &str, content: &str| {
            std::fs::write(outside.join(name), content).unwrap();
            text(&outside.join(name))
        };
        let wanted = if level == Level::Full { "auto" } else { "landlock" };
        let config = place("config.toml", &format!("[sandbox]\nlevel = \"{wanted}\"\n{}\n", wish.settings));
        let (hosts, resolver) =
            (place("hosts", HOSTS), place("resolv.conf", "nameserver 127.0.0.1\noptions timeout:2\n"));
        let nss = place("nsswitch.conf", "hosts: files dns\n");
        let servers = place("hosts.py", include_str!("../../data/hosts.py"));
        certificate(&outside);
        let addresses: Vec<String> = ADDRESSES.iter().map(|address| format!("ip addr add {address} dev lo")).collect();
        let user = if nobody { user_words().join(" ") } else { String::new() };
        let start = format!(
            "set -e; ip link set lo up; {}; mount --bind {hosts} /etc/hosts; mount --bind {resolver} /etc/resolv.conf; mount \
             --bind {nss} /etc/nsswitch.conf; python3 {servers} {} < /dev/null > {}/ready 2> {}/errors & until grep -q ready \
             {}/ready 2> /dev/null; do sleep 0.02; done; exec {user} \"$0\" \"$@\"",
            addresses.join("; "),
            text(&outside),
            text(&outside),
            text(&outside),
            text(&outside),
        );
        let root = rustix::process::getuid().is_root();
        let words = ["unshare", if root { "-nm" } else { "-Urnm" }, "--", "sh", "-c", &start];
        let arguments: Vec<&str> = ["--config", &config].into_iter().chain(wish.arguments.iter().copied()).collect();
        let client = Client::connect(world.command_by(&words, &arguments), wish.options);
        let hello = client.hello["instructions"].as_str().unwrap().to_owned();
        let shown = if level == Level::Full { "level full" } else { "level landlock" };
        assert!(hello.contains(shown), "the tests need the machine to reach {shown}: {hello}\n{}", client.log());
        Self { world, client, level, nobody }
    }

    #[track_caller]
    pub fn bash(&mut self, command: &str) -> Reply {
        self.client.bash(command)
    }

    /// Runs a command that must succeed, and returns its stdout.
    #[track_caller]
    pub fn does(&mut self, command: &str) -> String {
        let reply = self.client.bash(command);
        let log = self.reached();
        assert_eq!(reply.field("exit_code").as_deref(), Some("0"), "should work: {command}\n{}\n{log}", reply.text());
        reply.stdout()
    }

    /// Runs a command that must fail, and returns the whole text.
    #[track_caller]
    pub fn cannot(&mut self, command: &str) -> String {
        let reply = self.client.bash(command);
        assert_ne!(reply.field("exit_code").as_deref(), Some("0"), "should fail: {command}\n{}", reply.text());
        reply.text()
    }

    /// Gives everything in the project to the user who runs the server.
    pub fn own_project(&self) {
        self.world.own_by(if self.nobody { User::Nobody } else { User::Tester });
    }

    /// What the hosts have seen: a line for each request or connection.
    pub fn reached(&self) -> String {
        std::fs::read_to_string(self.world.outside().join("log")).unwrap_or_default()
    }

    /// The certificate by which commands trust the hosts.
    pub fn certificate(&self) -> String {
        text(&self.world.outside().join("cert.pem"))
    }
}

/// Runs the check at both levels, as root and as an ordinary user.
pub fn on_the_internet(wish: impl Fn() -> Wish<'static>, check: impl Fn(&mut Internet)) {
    each_case(|level, nobody| check(&mut Internet::new(level, nobody, wish())));
}

fn certificate(outside: &std::path::Path) {
    let path = |name: &str| -> PathBuf { outside.join(name) };
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"])
        .args(["-subj", "/CN=test", "-addext"])
        .arg("subjectAltName=DNS:allowed.test,DNS:*.sub.test,DNS:other.test,DNS:evil.test,DNS:registry.test")
        .arg("-keyout")
        .arg(path("key.pem"))
        .arg("-out")
        .arg(path("cert.pem"))
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}
