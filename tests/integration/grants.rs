//! What a rule's `grants` and `sandbox.agents` give: the person's ssh and gpg agents and a directory, to single commands or
//! to all, at both levels, as root and as an ordinary user.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::support::{Client, Person, StartOptions, User, World, choice, text, until};

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn run(program: &str, arguments: &[&str]) -> String {
    run_command(Command::new(program).args(arguments).stdin(Stdio::null()))
}

fn run_command(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A world, the user who works in it, and the level of the sandbox.
struct Scene {
    user: User,
    level: &'static str,
    world: World,
}

/// At both levels, as the user who tests and as nobody.
fn everywhere(check: impl Fn(&Scene)) {
    for user in User::all() {
        for level in LEVELS {
            check(&Scene { user: *user, level, world: user.world() });
        }
    }
}

impl Scene {
    fn command(&self, program: &str) -> Command {
        let words = [self.user.words(), &[program]].concat();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).env("HOME", self.world.home()).stdin(Stdio::null());
        command
    }

    fn run(&self, program: &str, arguments: &[&str]) -> String {
        run_command(self.command(program).args(arguments))
    }

    /// An ssh agent with one key.
    fn ssh_agent(&self) -> (Running, PathBuf) {
        let (socket, key) = (self.world.outside().join("agent.sock"), self.world.outside().join("id_test"));
        self.run("ssh-keygen", &["-q", "-t", "ed25519", "-N", "", "-C", "the key", "-f", &text(&key)]);
        let mut agent = self.command("ssh-agent");
        let agent = Running(agent.args(["-D", "-a", &text(&socket)]).stdout(Stdio::null()).spawn().unwrap());
        until("the agent to listen", || UnixStream::connect(&socket).ok());
        let added = self.command("ssh-add").arg(&key).env("SSH_AUTH_SOCK", &socket).stderr(Stdio::null()).status();
        assert!(added.unwrap().success());
        (agent, socket)
    }

    fn server(&self, settings: &str, variables: &[(&str, &Path)], options: StartOptions) -> Client {
        let config = self.world.outside().join("config.toml");
        std::fs::write(&config, settings).unwrap();
        let arguments = ["--config", &text(&config)];
        let mut command = match self.user.words() {
            [] => self.world.command(&arguments),
            words => self.world.command_by(words, &arguments),
        };
        command.envs(variables.iter().copied());
        Client::connect(command, options)
    }
}

const LEVELS: [&str; 2] = ["[sandbox]\nlevel = \"auto\"\n", "[sandbox]\nlevel = \"landlock\"\n"];

#[test]
fn only_the_granted_command_can_use_the_ssh_agent() {
    everywhere(|scene| {
        let level = scene.level;
        let (_agent, socket) = scene.ssh_agent();
        let rule = "[[policy.rule]]\ncommand = \"ssh-add -l\"\nverdict = \"allow\"\ngrants = [\"ssh-agent\"]\n";
        let settings = format!("{level}[policy]\nunlisted = \"allow\"\n{rule}");
        let mut server = scene.server(&settings, &[("SSH_AUTH_SOCK", &socket)], StartOptions::default());
        assert!(server.bash("ssh-add -l").stdout().contains("the key"), "{level}");
        let direct = format!("SSH_AUTH_SOCK={} ssh-add -L", text(&socket));
        assert_ne!(server.bash(&direct).field("exit_code").as_deref(), Some("0"), "{level}");
        // What it leaves in the background has no grant either: it ends.
        assert!(!server.bash("env").stdout().contains("SSH_AUTH_SOCK"), "{level}");
        assert_eq!(server.bash("echo here").stdout(), "here\n");
    });
}

#[test]
fn an_approved_command_gets_what_its_rule_grants() {
    everywhere(|scene| {
        let level = scene.level;
        let (_agent, socket) = scene.ssh_agent();
        let rule = "[[policy.rule]]\ncommand = \"ssh-add -l\"\nverdict = \"ask\"\ngrants = [\"ssh-agent\"]\n";
        let settings = format!("{level}[policy]\nunlisted = \"allow\"\n{rule}");
        let person = Person::new();
        let mut server = scene.server(&settings, &[("SSH_AUTH_SOCK", &socket)], person.options());
        person.will(choice("once"));
        assert!(server.bash("ssh-add -l").stdout().contains("the key"), "{level}");
        assert!(person.question(0)["message"].as_str().unwrap().contains("ssh-agent"));
        person.will(choice("deny"));
        server.bash("ssh-add -l").err();
    });
}

#[test]
fn sandbox_agents_gives_the_ssh_agent_to_every_command_and_commits_can_be_signed() {
    everywhere(|scene| {
        let (level, world) = (scene.level, &scene.world);
        let (_agent, socket) = scene.ssh_agent();
        let settings = format!("{level}agents = [\"ssh\"]\n");
        let mut server = scene.server(&settings, &[("SSH_AUTH_SOCK", &socket)], StartOptions::default());
        assert!(server.bash("ssh-add -l").stdout().contains("the key"), "{level}");
        let public = std::fs::read_to_string(world.outside().join("id_test.pub")).unwrap();
        world.file("key.pub", public);
        let commit = "git init -q && git -c gpg.format=ssh -c user.signingkey=key.pub -c user.name=n -c user.email=e@x \
                      commit -q -S --allow-empty -m signed && git cat-file commit HEAD";
        assert!(server.bash(commit).stdout().contains("BEGIN SSH SIGNATURE"), "{level}");
    });
}

#[test]
fn git_pushes_over_ssh_with_the_grant_and_not_without() {
    everywhere(|scene| {
        let (level, world) = (scene.level, &scene.world);
        let (_agent, socket) = scene.ssh_agent();
        let outside = world.outside();
        let path = |name: &str| text(&outside.join(name));
        run("ssh-keygen", &["-q", "-t", "ed25519", "-N", "", "-f", &path("host")]);
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let config = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nPidFile none\nStrictModes no\nUsePAM no\n\
             PermitRootLogin yes\nAuthorizedKeysFile {}\n",
            path("host"),
            path("id_test.pub"),
        );
        std::fs::write(outside.join("sshd_config"), config).unwrap();
        std::fs::create_dir_all("/run/sshd").unwrap();
        let mut daemon = Command::new("/usr/sbin/sshd");
        daemon.args(["-D", "-e", "-f", &path("sshd_config")]).stderr(Stdio::null());
        let _daemon = Running(daemon.spawn().unwrap());
        until("sshd", || std::net::TcpStream::connect(("127.0.0.1", port)).ok());
        run("git", &["init", "-q", "--bare", &path("remote.git")]);
        let project = text(&world.project());
        let url = format!("ssh://root@127.0.0.1:{port}{}", path("remote.git"));
        scene.run("git", &["-C", &project, "init", "-q", "-b", "main"]);
        scene.run("git", &["-C", &project, "remote", "add", "origin", &url]);
        scene.run(
            "git",
            &["-C", &project, "-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "--allow-empty", "-m", "one"],
        );
        let rule = "[[policy.rule]]\ncommand = \"git push\"\nverdict = \"ask\"\ngrants = [\"ssh-agent\"]\n";
        let settings = format!("{level}[policy]\nunlisted = \"allow\"\n{rule}");
        let ssh = Path::new("ssh -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o BatchMode=yes");
        let person = Person::new();
        let variables = [("SSH_AUTH_SOCK", socket.as_path()), ("GIT_SSH_COMMAND", ssh)];
        let mut server = scene.server(&settings, &variables, person.options());
        let denied = server.bash("git ls-remote origin");
        assert_ne!(denied.field("exit_code").as_deref(), Some("0"), "{level} {}", denied.text());
        assert!(denied.text().contains("[sandbox: ") && denied.text().contains("sandbox.agents"), "{}", denied.text());
        person.will(choice("once"));
        let pushed = server.bash("git push origin main");
        assert_eq!(pushed.field("exit_code").as_deref(), Some("0"), "{level} {}", pushed.text());
        assert_eq!(
            run("git", &["-C", &path("remote.git"), "rev-parse", "main"]),
            scene.run("git", &["-C", &project, "rev-parse", "main"])
        );
    });
}

#[test]
fn a_directory_can_be_granted_for_writing() {
    everywhere(|scene| {
        let (level, world) = (scene.level, &scene.world);
        let granted = world.outside().join("granted");
        scene.run("mkdir", &[&text(&granted)]);
        let granted = text(&granted);
        let rule = format!(
            "[[policy.rule]]\ncommand = \"cp\"\nverdict = \"allow\"\narguments = \"any\"\ngrants = [\"write:{granted}\"]\n"
        );
        let settings = format!("{level}[policy]\nunlisted = \"allow\"\n{rule}");
        let mut server = scene.server(&settings, &[], StartOptions::default());
        world.file("a", "content");
        let copied = server.bash(&format!("cp a {granted}/a"));
        assert_eq!(copied.field("exit_code").as_deref(), Some("0"), "{level} {}", copied.text());
        assert_ne!(server.bash(&format!("touch {granted}/b")).field("exit_code").as_deref(), Some("0"));
        assert!(Path::new(&granted).join("a").exists() && !Path::new(&granted).join("b").exists());
    });
}

#[test]
fn the_gpg_agent_signs_with_the_grant_and_no_key_can_be_read() {
    everywhere(|scene| {
        let (level, world) = (scene.level, &scene.world);
        let keys = world.home().join(".gnupg");
        scene.run("mkdir", &["-m", "700", &text(&keys)]);
        let home = text(&keys);
        let quiet = ["--homedir", &home, "--batch", "--quiet", "--passphrase", "", "--pinentry-mode", "loopback"];
        scene.run("gpg", &[&quiet[..], &["--quick-generate-key", "n <e@x>", "default", "default", "never"]].concat());
        let rule =
            "[[policy.rule]]\ncommand = \"gpg\"\nverdict = \"allow\"\narguments = \"any\"\ngrants = [\"gpg-agent\"]\n";
        let settings = format!("{level}[policy]\nunlisted = \"allow\"\n{rule}");
        let mut server = scene.server(&settings, &[("GNUPGHOME", &keys)], StartOptions::default());
        world.file("a", "content");
        let signed = server.bash("gpg --batch --no-autostart --armor --output - --detach-sign a");
        assert!(signed.stdout().contains("BEGIN PGP SIGNATURE"), "{level} {}", signed.text());
        let listed = server.bash("cat ~/.gnupg/private-keys-v1.d/*");
        assert_ne!(listed.field("exit_code").as_deref(), Some("0"), "{level} {}", listed.text());
        scene.run("gpgconf", &["--homedir", &home, "--kill", "all"]);
    });
}
