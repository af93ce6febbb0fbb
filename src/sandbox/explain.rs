//! Explains a command's error when the sandbox caused it. It looks for a path or the network in the command's error
//! messages. It says nothing when the profile does not prove that the sandbox was the cause.

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use rustix::process::Resource;
use rustix::thread::CapabilitySet;

use super::profile::Sockets;
use super::seccomp::{REFUSED, Refused};
use super::{Level, Network, Profile};
use crate::base::{lexical, mounts, size};

/// The kernel's refusals, as `strerror` words them in English.
const REFUSALS: [&str; 3] = ["Read-only file system", "Permission denied", "Operation not permitted"];
/// How a masked name appears in a home of the session's own.
const MISSING: &str = "No such file or directory";
/// What commands get for something that we have mounted in its place.
const BUSY: &str = "Device or resource busy";
/// How programs report that they can write no more to a file, and that no process can be started.
const TOO_LARGE: [&str; 2] = ["File size limit exceeded", "File too large"];
const NO_PROCESS: &str = "Resource temporarily unavailable";
/// How programs report that a host name could not be looked up.
const NO_NAME: [&str; 4] =
    ["Temporary failure in name resolution", "Could not resolve host", "Name or service not known", "getaddrinfo"];

/// How libc words the error of `socket` for a Unix socket that nothing can supervise.
const NOT_SUPERVISED: &str = "Socket type not supported";

/// One sentence for the agent, or `None`.
pub fn explain(profile: &Profile, cwd: &Path, stderr: &str) -> Option<String> {
    if profile.level == Level::None && profile.network == Network::On {
        return None;
    }
    stderr.lines().find_map(|line| {
        if line.contains(NOT_SUPERVISED) && profile.level != Level::None && profile.sockets != Sockets::All {
            return Some(
                "commands cannot have Unix datagram sockets, because nothing could check where they send to; use a \
                 stream, if `testudo doctor` does not say that there are no Unix sockets at all here \
                 (sandbox.sockets = [\"*\"] lifts this)"
                    .to_owned(),
            );
        }
        if let Some(reason) = about_limits(profile, line).or_else(|| about_agents(profile, line)) {
            return Some(reason);
        }
        let refusal = REFUSALS.into_iter().chain([MISSING, BUSY]).find(|refusal| line.contains(refusal));
        if profile.network != Network::On
            && is_about_the_network(line, refusal.is_some_and(|refusal| refusal != MISSING && refusal != BUSY))
        {
            return Some(about_network(profile));
        }
        let refusal = refusal?;
        if let Some(reason) = about_calls(profile, refusal, line) {
            return Some(reason);
        }
        paths(line, refusal, cwd).into_iter().find_map(|path| about(profile, refusal, &path))
    })
}

/// The limit that a message is about, and the way out. Nothing if a smaller limit of the person's own is in force.
fn about_limits(profile: &Profile, line: &str) -> Option<String> {
    if profile.level == Level::None {
        return None;
    }
    let limits = &profile.limits;
    let ours = |resource, limit| rustix::process::getrlimit(resource).current.is_none_or(|own| own >= limit);
    if TOO_LARGE.iter().any(|sign| line.contains(sign)) && ours(Resource::Fsize, limits.file) {
        let most = size::text(limits.file);
        return Some(format!("no file that a command writes can be larger than {most} (sandbox.limits.file)"));
    }
    let forks = line.contains(NO_PROCESS) && ["fork", "thread", "clone"].iter().any(|word| line.contains(word));
    (forks && ours(Resource::Nproc, limits.processes)).then(|| {
        format!(
            "a session can have {} processes and threads (sandbox.limits.processes); end some of them with kill or task_stop",
            limits.processes
        )
    })
}

/// How programs report that they have no key to log in or to sign with, and how commands get one.
const NO_KEY: [(&str, &str); 5] = [
    ("Permission denied (publickey", "ssh"),
    ("Could not open a connection to your authentication agent", "ssh"),
    ("Couldn't get agent socket", "ssh"),
    ("gpg: signing failed", "gpg"),
    ("can't connect to the agent", "gpg"),
];

/// Keys are hidden, and so are the agents that use them.
fn about_agents(profile: &Profile, line: &str) -> Option<String> {
    let (_, agent) = NO_KEY.iter().find(|(sign, _)| line.contains(sign))?;
    let given = |path: &PathBuf| path.ends_with("S.gpg-agent");
    let has_it = match (&profile.sockets, *agent) {
        (Sockets::All, _) => true,
        (Sockets::Only(_), "ssh") => profile.variables.iter().any(|(name, _)| name == "SSH_AUTH_SOCK"),
        (Sockets::Only(listed), _) => listed.iter().any(given),
    };
    (profile.level != Level::None && !has_it).then(|| {
        format!(
            "commands can use neither the person's keys nor the {agent} agent; sandbox.agents = [\"{agent}\"] lets all commands use \
             the agent, a rule with grants = [\"{agent}-agent\"] those that it names"
        )
    })
}

fn about_network(profile: &Profile) -> String {
    if profile.network == Network::Hosts {
        return "commands reach other hosts through a proxy only, which HTTP_PROXY, HTTPS_PROXY and ALL_PROXY name (HTTP or \
                SOCKS 5), and this program did not use it (--network hosts)"
            .to_owned();
    }
    "the network is off for commands (--network, network.mode)".to_owned()
}

/// How programs report that there is no way to an address.
const UNREACHABLE: &str = "Network is unreachable";

/// Programs name the system call that failed: `ptrace: …`, `PTRACE_TRACEME: …`.
fn about_calls(profile: &Profile, refusal: &str, line: &str) -> Option<String> {
    if profile.level == Level::None || refusal != REFUSALS[2] {
        return None;
    }
    let line = line.to_ascii_lowercase();
    let words: Vec<&str> = line.split(|char: char| !char.is_ascii_alphanumeric() && char != '_').collect();
    let is_named = |name: &str| {
        words.iter().any(|word| word.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('_')))
    };
    let might = |refused: &&Refused| !refused.only_root || may_administer();
    REFUSED.iter().filter(might).find_map(|refused| {
        let name = refused.names().find(|name| is_named(name))?;
        let does = refused.does;
        Some(format!("no command can call {name}, which {does}; only a person outside the sandbox can run this"))
    })
}

/// Whether the kernel would let us do what only root may do.
fn may_administer() -> bool {
    rustix::thread::capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_ADMIN))
}

fn is_about_the_network(line: &str, refused: bool) -> bool {
    let words = ["socket", "connect", "network"];
    line.contains(UNREACHABLE)
        || NO_NAME.iter().any(|sign| line.contains(sign))
        || refused
            && line.split_whitespace().filter(|part| !part.contains('/')).any(|part| {
                let part = part.to_ascii_lowercase();
                words.iter().any(|word| part.contains(word))
            })
}

fn about(profile: &Profile, refusal: &str, path: &Path) -> Option<String> {
    let shown = path.display();
    if profile.hides(path) {
        // We are outside, and see whether the person really has this file.
        let is_there = refusal != MISSING || path.symlink_metadata().is_ok();
        return is_there.then(|| {
            format!("{shown} holds credentials or keys, which commands cannot read (sandbox.reveal lists exceptions)")
        });
    }
    if refusal == MISSING {
        return None;
    }
    if refusal == BUSY {
        let name = profile.protected.iter().find(|name| name.starts_with(path))?.display();
        return Some(format!(
            "{shown} cannot be moved or removed, because commands cannot change {name} (sandbox.protect)"
        ));
    }
    if let Some(name) = profile.protected.iter().find(|name| path.starts_with(name)) {
        let name = name.display();
        return Some(format!("commands cannot write {name} (sandbox.protect); the file tools ask before they do"));
    }
    // Mounts refuse with "Read-only file system", Landlock with "Permission denied". The mode of the file can cause the
    // latter too, so `is_ours_to_write` checks the mode.
    let certain = refusal == REFUSALS[0] || profile.level == Level::Landlock && refusal == REFUSALS[1];
    if profile.level == Level::None
        || !certain
        || profile.is_writable(path)
        || !is_ours_to_write(path)
        || is_socket(path)
    {
        return None;
    }
    let tmp = profile.tmp_seen().display();
    Some(if profile.read_only {
        format!("{shown} cannot be written in mode read-only (--sandbox); {tmp} can")
    } else if profile.writable.is_empty() {
        format!("{shown} cannot be written, because no project was named (--project-dir names one); {tmp} can")
    } else {
        format!("{shown} is outside what commands can write: the scope and {tmp} (--workspace-dir adds to it)")
    })
}

/// Whether the mode of the file allows us to write it. If so, the sandbox must have refused it.
fn is_ours_to_write(path: &Path) -> bool {
    if !mounts::answers(path) {
        return false;
    }
    // In a directory that is missing, the kernel refuses nothing: it finds nothing.
    let existing = path.ancestors().take(2).find(|path| path.exists());
    existing.is_some_and(|existing| rustix::fs::access(existing, rustix::fs::Access::WRITE_OK).is_ok())
}

/// The supervisor has explained it already, if it refused to connect to it.
fn is_socket(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket())
}

/// Everything in a message that looks like a path: quoted text, words between spaces, colons and commas, and the text
/// before the refusal (`bash: line 1: name: Read-only file system`).
fn paths(line: &str, refusal: &str, cwd: &Path) -> Vec<PathBuf> {
    let quoted = line.split(['\'', '"', '‘', '’', '`']).skip(1).step_by(2);
    let words = line.split([' ', ':', ',']).filter(|word| word.contains('/') || word.starts_with('.'));
    let before = line.split(refusal).next().and_then(|before| before.strip_suffix(": ")?.rsplit(": ").next());
    let candidates = quoted.chain(words).chain(before).map(|text| text.trim_matches(['\'', '"', '`', '(', ')']));
    candidates
        .filter(|text| !text.is_empty() && !text.contains('\0'))
        .map(|text| lexical::normal(&cwd.join(text)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::secrets::Mask;

    fn profile() -> Profile {
        Profile {
            level: Level::Full,
            writable: vec!["/p".into()],
            protected: vec!["/p/.git/hooks".into()],
            secrets: [Mask::hidden("/h/.ssh".into())].into(),
            private_tmp: true,
            ..Profile::default()
        }
    }

    fn explained(line: &str) -> String {
        explain(&profile(), Path::new("/p"), line).unwrap_or_default()
    }

    #[test]
    fn the_path_and_the_setting_are_named() {
        assert!(explained("cat: /h/.ssh/id: Permission denied").contains("/h/.ssh/id holds credentials"));
        assert!(explained("bash: .git/hooks/x: Read-only file system").contains("sandbox.protect"));
        let python = "PermissionError: [Errno 30] Read-only file system: '/p/.git/hooks/x'";
        assert!(explained(python).contains("sandbox.protect"));
    }

    #[test]
    fn a_file_that_only_the_sandbox_refuses_is_outside() {
        let world = tempfile::tempdir().unwrap();
        let (file, cwd) = (world.path().join("x"), world.path().join("p"));
        let profile = Profile { private_tmp: false, tmp: "/t".into(), ..profile() };
        for line in [
            &format!("touch: cannot touch '{}': Read-only file system", file.display()),
            "bash: line 1: ../x: Read-only file system",
        ] {
            let explained = explain(&profile, &cwd, line).unwrap_or_default();
            assert!(explained.starts_with(&format!("{} is outside", file.display())), "{line}: {explained}");
        }
    }

    #[test]
    fn why_nothing_is_writable_is_told_as_it_is() {
        let world = tempfile::tempdir().unwrap();
        let line = format!("touch: cannot touch '{}': Read-only file system", world.path().join("x").display());
        let base = Profile { private_tmp: false, tmp: "/t".into(), writable: Vec::new(), ..profile() };
        let explained = |read_only| explain(&Profile { read_only, ..base.clone() }, Path::new("/p"), &line).unwrap();
        assert!(explained(true).contains("mode read-only (--sandbox)"));
        assert!(explained(false).contains("no project was named (--project-dir names one); /t can"));
    }

    #[test]
    fn a_name_without_a_directory_is_found_before_the_refusal() {
        let world = tempfile::tempdir().unwrap();
        let profile =
            Profile { read_only: true, writable: Vec::new(), private_tmp: false, tmp: "/t".into(), ..profile() };
        let explained = |line| explain(&profile, world.path(), line).unwrap_or_default();
        assert!(explained("environment: line 1: here: Read-only file system").contains("/here cannot be written"));
        assert_eq!(explained("Read-only file system"), "");
    }

    #[test]
    fn nothing_is_guessed() {
        for line in [
            "cat: /p/secret: Permission denied",
            "kill: (1) - Operation not permitted",
            "error: could not resolve host names in my program",
            "all fine",
            "bash: /p/network/x: Permission denied",
            "touch: cannot touch '/p/x': Read-only file system",
        ] {
            assert_eq!(explained(line), "", "{line}");
        }
    }

    #[test]
    fn a_command_without_a_key_is_told_how_to_get_one() {
        let refused = "git@host: Permission denied (publickey,password).";
        assert!(explained(refused).contains("grants = [\"ssh-agent\"]"));
        assert!(explained("error: gpg: signing failed: No secret key").contains("sandbox.agents = [\"gpg\"]"));
        let mut profile = profile();
        profile.variables = vec![("SSH_AUTH_SOCK".to_owned(), "/run/agent".into())];
        assert_eq!(explain(&profile, Path::new("/p"), refused), None, "it has the agent");
    }

    #[test]
    fn refused_system_calls_are_named() {
        for line in [
            "strace: test_ptrace_get_syscall_info: PTRACE_TRACEME: Operation not permitted",
            "ptrace: Operation not permitted.",
        ] {
            assert!(explained(line).contains("can call ptrace, which reaches into other processes"), "{line}");
        }
        for line in ["ptrace(PTRACE_ATTACH): No such process", "my_ptrace: Operation not permitted"] {
            assert_eq!(explained(line), "", "{line}");
        }
    }

    #[test]
    fn limits_and_mounts_are_named() {
        let mut profile = profile();
        profile.limits.file = 1 << 20;
        profile.limits.processes = 7;
        let explained = |line: &str| explain(&profile, Path::new("/p"), line).unwrap_or_default();
        assert!(explained("dd: error writing 'big': File too large").contains("sandbox.limits.file"));
        assert!(explained("bash: fork: retry: Resource temporarily unavailable").contains("can have 7 processes"));
        assert_eq!(explained("read: Resource temporarily unavailable"), "");
        assert!(explained("mv: cannot move '.git' to 'x': Device or resource busy").contains("/p/.git/hooks"));
        assert_eq!(explained("umount: /mnt: Device or resource busy"), "");
    }

    #[test]
    fn without_a_network_a_failed_lookup_has_a_reason() {
        let off = Profile { network: Network::Off, ..profile() };
        for line in ["curl: (6) Could not resolve host: x", "socket: Operation not permitted"] {
            assert!(explain(&off, Path::new("/p"), line).is_some_and(|text| text.contains("--network")), "{line}");
        }
    }
}
