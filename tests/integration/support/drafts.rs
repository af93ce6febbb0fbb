use std::collections::BTreeMap;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::launch::NOBODY;
use super::{Client, StartOptions, World, user_words};

/// A project that is worked on as a draft, and the person to whom it belongs.
pub struct Bench {
    pub world: World,
    nobody: bool,
}

/// As the user who runs the tests and as an ordinary one. `prepare` makes the project.
#[track_caller]
pub fn as_both(prepare: &str, check: impl Fn(&Bench)) {
    let root = rustix::process::getuid().is_root();
    for nobody in if root { &[false, true][..] } else { &[false] } {
        #[expect(clippy::print_stderr, reason = "a failure must tell which case it was")]
        {
            eprintln!("-- as {}", if *nobody { "nobody" } else { "the user who tests" });
        }
        check(&Bench::new(*nobody, prepare));
    }
}

impl Bench {
    pub fn new(nobody: bool, prepare: &str) -> Self {
        let world = if nobody { World::for_user(NOBODY) } else { World::new() };
        let bench = Self { world, nobody };
        bench.person(prepare);
        bench
    }

    /// The binary, run by the person in the project.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command =
            if self.nobody { self.world.command_by(&user_words(), arguments) } else { self.world.command(arguments) };
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// A server that works on the draft. Its first result has said so, and no later one does.
    pub fn server(&self, arguments: &[&str]) -> Client {
        let arguments: Vec<&str> = ["--draft"].into_iter().chain(arguments.iter().copied()).collect();
        let mut command =
            if self.nobody { self.world.command_by(&user_words(), &arguments) } else { self.world.command(&arguments) };
        command.env("GIT_CONFIG_COUNT", "0");
        let mut client = Client::connect(command, StartOptions::default());
        let first = client.bash("true").ok();
        assert!(first.contains("this is a draft of the project"), "{first}");
        client
    }

    /// Whether it succeeded, and all that it printed.
    pub fn run(&self, arguments: &[&str]) -> (bool, String) {
        let output = self.command(arguments).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.success(), text(output.stdout) + &text(output.stderr))
    }

    #[track_caller]
    pub fn ok(&self, arguments: &[&str]) -> String {
        let (succeeded, text) = self.run(arguments);
        assert!(succeeded, "testudo {arguments:?}: {text}");
        text
    }

    /// What the person does in the project, outside of any draft.
    #[track_caller]
    pub fn person(&self, command: &str) -> String {
        self.run_in(&self.world.project(), command)
    }

    #[track_caller]
    pub fn run_in(&self, directory: &Path, command: &str) -> String {
        let mut words: Vec<&str> = if self.nobody { user_words().to_vec() } else { Vec::new() };
        words.extend(["bash", "-c", command]);
        let mut shell = Command::new(words[0]);
        shell.args(&words[1..]).current_dir(directory).env("HOME", self.world.home()).env("LANG", "C.UTF-8");
        let output = shell.stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    pub fn read(&self, name: &str) -> String {
        self.world.read(name)
    }

    /// A copy of the project outside.
    pub fn plain_copy(&self) -> PathBuf {
        let plain = self.world.outside().join("plain");
        let (project, copy) = (self.world.project(), plain.display().to_string());
        self.run_in(
            &self.world.outside(),
            &format!("chmod -R u+rwX {copy} 2>/dev/null; rm -rf {copy}; cp -a {} {copy}", project.display()),
        );
        plain
    }

    /// Empties the project and makes it anew.
    pub fn start_again(&self, prepare: &str) {
        let project = self.world.project();
        self.run_in(
            &self.world.outside(),
            &format!("chmod -R u+rwX {0}; chmod 755 {0}; find {0} -mindepth 1 -delete", project.display()),
        );
        self.person(prepare);
        self.run(&["discard"]);
    }
}

/// Everything about a tree that a person could notice, the times included.
pub fn fingerprint(root: &Path) -> BTreeMap<String, String> {
    tree(root, true)
}

/// The same without times that say when the test ran: those before 2022 were set on purpose.
pub fn contents(root: &Path) -> BTreeMap<String, String> {
    tree(root, false)
}

fn tree(root: &Path, times: bool) -> BTreeMap<String, String> {
    let (mut found, mut first_names) = (BTreeMap::new(), BTreeMap::new());
    let mut open = vec![root.to_owned()];
    let mut all = Vec::new();
    while let Some(path) = open.pop() {
        if path.symlink_metadata().unwrap().is_dir() {
            open.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        all.push(path);
    }
    all.sort();
    for path in all {
        let facts = path.symlink_metadata().unwrap();
        let name = String::from_utf8_lossy(path.strip_prefix(root).unwrap().as_os_str().as_bytes()).into_owned();
        let name = if name.contains('\u{fffd}') {
            path.strip_prefix(root).unwrap().as_os_str().as_bytes().escape_ascii().to_string()
        } else {
            name
        };
        let mut text = format!("{:o} {}:{} ", facts.mode(), facts.uid(), facts.gid());
        if facts.is_symlink() {
            let target = std::fs::read_link(&path).unwrap();
            write!(text, "-> {} ", target.as_os_str().as_bytes().escape_ascii()).unwrap();
        } else if facts.is_file() {
            let first = first_names.entry(facts.ino()).or_insert_with(|| name.clone()).clone();
            write!(text, "{} bytes, {} names, first {first}, ", facts.len(), facts.nlink()).unwrap();
            write!(text, "{:x} ", sum(&std::fs::read(&path).unwrap())).unwrap();
            if facts.blocks() * 512 < facts.len() / 2 {
                text.push_str("sparse ");
            }
        }
        if !facts.is_symlink() && !facts.file_type().is_fifo() {
            text.push_str(&attributes(&path));
        }
        let set_on_purpose = facts.mtime() < 1_640_995_200;
        if times || (set_on_purpose && !facts.is_dir()) {
            write!(text, "{}.{}", facts.mtime(), facts.mtime_nsec()).unwrap();
        }
        found.insert(name, text);
    }
    found
}

fn sum(bytes: &[u8]) -> u64 {
    use std::hash::Hasher;
    let mut hasher = std::hash::DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

fn attributes(path: &Path) -> String {
    let mut names = vec![0_u8; 4096];
    let Ok(length) = rustix::fs::llistxattr(path, &mut names[..]) else { return String::new() };
    let mut all: Vec<String> = names[..length]
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
        .map(|name| {
            let mut value = vec![0_u8; 4096];
            let length = rustix::fs::lgetxattr(path, name, &mut value[..]).unwrap_or(0);
            format!("{}={:?} ", String::from_utf8_lossy(name), &value[..length])
        })
        .collect();
    all.sort();
    all.concat()
}
