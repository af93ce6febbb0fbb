//! Whether the promises hold on this machine: each is broken on purpose, from inside, and must fail.

use std::ffi::CString;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::{Level, Network, Profile, capabilities};
use crate::base::packed::{Malformed, Reader, put_count, put_text};

/// One promise and whether it held.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Finding {
    pub promise: String,
    pub held: bool,
}

/// Runs in a process of its own inside the sandbox, so whatever a broken promise does to it does not matter.
pub fn probe(profile: &Profile) -> Vec<Finding> {
    let full = profile.level == Level::Full;
    let mut findings = Vec::new();
    let mut check = |promise: &str, held: bool| findings.push(Finding { promise: promise.to_owned(), held });
    let outside = ["/", "/usr", "/var"].map(Path::new).into_iter().filter(|path| !profile.is_writable(path));
    check("no writing outside the scope", !outside.into_iter().any(can_create_in));
    check("the session's temporary directory can be written", can_create_in(profile.tmp_seen()));
    check("secrets cannot be read", profile.secrets.iter().all(|secret| is_hidden(secret, profile)));
    check("protected names cannot be written", !full || !profile.protected.iter().any(|path| can_write(path)));
    check("no device nodes", refused(|| mknod(&profile.tmp_seen().join(".testudo-probe"))));
    check("no new privileges, no capabilities", privileges_are_gone(profile.level));
    check("no mounting", refused(|| call(libc::SYS_mount, [0; 5])));
    check("no new user namespaces", refused(|| call(libc::SYS_unshare, [i64::from(libc::CLONE_NEWUSER), 0, 0, 0, 0])));
    check("no reaching into other processes", refused(|| call(libc::SYS_ptrace, [16, 1, 0, 0, 0])));
    check("no io_uring", refused(|| call(libc::SYS_io_uring_setup, [1, 0, 0, 0, 0])));
    check("no kernel programs", refused(|| call(libc::SYS_bpf, [0; 5])));
    check("no kernel keys", refused(|| call(libc::SYS_keyctl, [0; 5])));
    check("no files by handle", refused(|| call(libc::SYS_open_by_handle_at, [-1, 0, 0, 0, 0])));
    check("no typing into terminals", refused(type_into_terminal));
    check("only ordinary sockets", refused(|| socket(libc::AF_VSOCK)) && refused(|| socket(libc::AF_ALG)));
    match profile.network {
        Network::On => {}
        Network::Off => check("no network", refused(|| socket(libc::AF_INET)) && refused(|| socket(libc::AF_NETLINK))),
        Network::Loopback => check("no network but the own loopback", refused(|| socket(libc::AF_NETLINK))),
    }
    if full {
        check("processes of its own", !Path::new("/proc/1/exe").exists() && parent_is_first());
    }
    findings
}

pub fn encode(findings: &[Finding]) -> Vec<u8> {
    let mut out = Vec::new();
    put_count(&mut out, findings.len());
    for finding in findings {
        put_count(&mut out, usize::from(finding.held));
        put_text(&mut out, &finding.promise);
    }
    out
}

pub fn decode(bytes: &[u8]) -> Result<Vec<Finding>, Malformed> {
    let mut rest = Reader(bytes);
    let finding = |rest: &mut Reader| {
        let held = rest.count()? == 1;
        Ok(Finding { held, promise: rest.text()?.to_string_lossy().into_owned() })
    };
    (0..rest.count()?).map(|_| finding(&mut rest)).collect()
}

/// A file without a name, so that a success leaves nothing behind.
fn can_create_in(directory: &Path) -> bool {
    let opened = File::options().write(true).custom_flags(libc::O_TMPFILE).open(directory);
    // Some file systems have no nameless files, and then nothing was learned.
    opened.map_or_else(|error| error.raw_os_error() == Some(libc::EOPNOTSUPP), |_| true)
}

fn can_write(path: &Path) -> bool {
    if path.is_dir() { can_create_in(path) } else { File::options().append(true).open(path).is_ok() }
}

/// Unreadable, or nothing to read but the session's own places in it. Without mounts names can still be listed.
fn is_hidden(path: &Path, profile: &Profile) -> bool {
    let full = profile.level == Level::Full;
    let Ok(metadata) = std::fs::metadata(path) else { return true };
    if metadata.is_dir() {
        let places = || profile.writable.iter().chain(&profile.visible).chain([&profile.tmp]);
        let leads_to_a_place = |entry: std::fs::DirEntry| places().any(|place| place.starts_with(entry.path()));
        return !full || std::fs::read_dir(path).map_or(true, |entries| entries.flatten().all(leads_to_a_place));
    }
    match File::open(path) {
        Ok(mut file) => matches!(std::io::Read::read(&mut file, &mut [0; 1]), Ok(0)) && full,
        Err(_) => true,
    }
}

fn refused(attempt: impl FnOnce() -> i64) -> bool {
    attempt() == -1 && matches!(std::io::Error::last_os_error().raw_os_error(), Some(libc::EPERM | libc::EACCES))
}

fn call(number: i64, a: [i64; 5]) -> i64 {
    // SAFETY: only called with numbers that the filter must refuse before the kernel looks at an argument; should it not,
    // the null pointers and bad descriptors among them are errors too.
    unsafe { libc::syscall(number, a[0], a[1], a[2], a[3], a[4]) }
}

fn socket(family: i32) -> i64 {
    // SAFETY: socket takes no pointers; this process ends right after its probes, with whatever it has open.
    i64::from(unsafe { libc::socket(family, libc::SOCK_DGRAM, 0) })
}

fn mknod(path: &Path) -> i64 {
    let Ok(name) = CString::new(path.as_os_str().as_encoded_bytes()) else { return 0 };
    // SAFETY: the name is a NUL-terminated string that outlives the call.
    let made = unsafe { libc::mknod(name.as_ptr(), libc::S_IFCHR | 0o600, libc::makedev(1, 5)) };
    i64::from(made)
}

fn type_into_terminal() -> i64 {
    let Ok(null) = File::open("/dev/null") else { return 0 };
    // SAFETY: the argument is a null pointer, which the kernel refuses to read, and not a terminal besides.
    i64::from(unsafe { libc::ioctl(null.as_raw_fd(), libc::TIOCSTI, 0) })
}

fn privileges_are_gone(level: Level) -> bool {
    let kept = capabilities::kept(level);
    rustix::thread::no_new_privs().unwrap_or(false)
        && rustix::thread::capabilities(None).is_ok_and(|sets| kept.contains(sets.permitted | sets.effective))
}

fn parent_is_first() -> bool {
    rustix::process::getppid().is_some_and(rustix::process::Pid::is_init)
}
