//! Tests whether the sandbox keeps its promises on this machine: it tries to break each one from inside.

use std::ffi::CString;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};

use super::secrets::{Mask, Shows};
use super::supervise::supervises_names;
use super::{Level, Network, Profile, capabilities};
use crate::base::packed::{Malformed, Reader, put_count, put_text};

/// One promise, and whether the attempt to break it failed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Finding {
    pub promise: String,
    pub held: bool,
}

/// Runs in a process of its own inside the sandbox, so a successful attempt harms nothing else.
pub fn probe(profile: &Profile) -> Vec<Finding> {
    let full = profile.level == Level::Full;
    let mut findings = Vec::new();
    let mut check = |promise: &str, held: bool| findings.push(Finding { promise: promise.to_owned(), held });
    let outside = ["/", "/usr", "/var"].map(Path::new).into_iter().filter(|path| !profile.is_writable(path));
    check("files outside the scope cannot be written", !outside.into_iter().any(can_create_in));
    check("the session's temporary directory can be written", can_create_in(profile.tmp_seen()));
    check("secrets cannot be read", profile.secrets.iter().all(|mask| is_masked(mask, profile)));
    check("protected names cannot be written", !full || !profile.protected.iter().any(|path| can_write(path)));
    check("device nodes cannot be created", mknod(&profile.tmp_seen().join(".testudo-probe")) == -1);
    check("no_new_privs is set, capabilities are dropped", privileges_are_gone(profile.level));
    check("files cannot be created with set-id bits", cannot_create_with_set_id(profile.tmp_seen()));
    // In a project that is the whole file system, `/` is no place outside.
    if supervises_names(profile) && !profile.may_connect(Path::new("/")) {
        let (promise, held) = named_sockets();
        check(promise, held);
    }
    check("nothing can be mounted", refused(|| call(libc::SYS_mount, [0; 5])));
    check(
        "user namespaces cannot be created",
        refused(|| call(libc::SYS_unshare, [i64::from(libc::CLONE_NEWUSER), 0, 0, 0, 0])),
    );
    check("other processes cannot be traced", refused(|| call(libc::SYS_ptrace, [16, 1, 0, 0, 0])));
    check("io_uring cannot be used", refused(|| call(libc::SYS_io_uring_setup, [1, 0, 0, 0, 0])));
    check("bpf cannot be used", refused(|| call(libc::SYS_bpf, [0; 5])));
    check("kernel keyrings cannot be used", refused(|| call(libc::SYS_keyctl, [0; 5])));
    check("files cannot be opened by handle", refused(|| call(libc::SYS_open_by_handle_at, [-1, 0, 0, 0, 0])));
    check("input cannot be injected into terminals", refused(type_into_terminal));
    check(
        "unusual socket families cannot be used",
        refused(|| socket(libc::AF_VSOCK)) && refused(|| socket(libc::AF_ALG)),
    );
    match profile.network {
        Network::On => {}
        Network::Off => check(
            "the network cannot be used",
            refused(|| socket(libc::AF_INET)) && refused(|| socket(libc::AF_NETLINK)),
        ),
        Network::Loopback => check("only the session's own loopback can be used", leads_nowhere()),
        Network::Hosts if full => check("the proxy is the only way to other hosts", leads_nowhere()),
        Network::Hosts => check(
            "the proxy is the only way to other hosts (at level landlock commands cannot reach their own servers either)",
            leads_nowhere() && refused(|| socket(libc::AF_INET)),
        ),
    }
    if full {
        check("processes outside the session cannot be seen", !Path::new("/proc/1/exe").exists() && parent_is_first());
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

/// Creates a file without a name, so that a success leaves nothing behind.
fn can_create_in(directory: &Path) -> bool {
    let opened = File::options().write(true).custom_flags(libc::O_TMPFILE).open(directory);
    // A file system without O_TMPFILE says so after the kernel has checked mount and mode, so it counts as a success.
    opened.map_or_else(|error| error.raw_os_error() == Some(libc::EOPNOTSUPP), |_| true)
}

fn can_write(path: &Path) -> bool {
    if path.is_dir() { can_create_in(path) } else { File::options().append(true).open(path).is_ok() }
}

/// Whether a secret is unreadable. At level `full` a directory may still list the places of the session that lie in it; at
/// level `landlock` the names in it can be listed, but no file can be read. Links are followed, as a command would.
fn is_masked(mask: &Mask, profile: &Profile) -> bool {
    let path = &mask.at;
    let Ok(metadata) = std::fs::metadata(path) else { return true };
    if metadata.is_dir() {
        let places = || profile.writable.iter().chain(&profile.visible).chain([&profile.tmp]);
        let leads_to_a_place = |path: &Path| places().any(|place| place.starts_with(path));
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut hidden = entries.filter(|entry| profile.hides(entry) && !leads_to_a_place(entry));
        return match profile.level {
            Level::Full if in_own_home(path, profile) => true,
            Level::Full => hidden.next().is_none(),
            Level::Landlock | Level::None => !hidden.take(100).any(|entry| entry.is_file() && can_read(&entry)),
        };
    }
    match &mask.shows {
        Shows::Cleaned { .. } => mask.is_clean() || !can_read(path),
        Shows::Nothing | Shows::Only(_) => !can_read(path) || in_own_home(path, profile),
    }
}

/// In a private home a command may have created a file of that name, which is no secret. The overlay cannot show the
/// person's own: the name is masked.
fn in_own_home(path: &Path, profile: &Profile) -> bool {
    profile.private_home().is_some_and(|home| path.starts_with(home))
}

fn can_read(path: &Path) -> bool {
    let opened = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path);
    opened.is_ok_and(|mut file| std::io::Read::read(&mut file, &mut [0; 1]).is_ok())
}

fn refused(attempt: impl FnOnce() -> i64) -> bool {
    attempt() == -1 && matches!(std::io::Error::last_os_error().raw_os_error(), Some(libc::EPERM | libc::EACCES))
}

fn call(number: i64, a: [i64; 5]) -> i64 {
    // SAFETY: only called with numbers that the filter must refuse before the kernel looks at an argument. If the filter
    // lets one through, its null pointers and bad descriptors are errors too.
    unsafe { libc::syscall(number, a[0], a[1], a[2], a[3], a[4]) }
}

fn socket(family: i32) -> i64 {
    // SAFETY: socket takes no pointers. The process exits right after its tests, which closes the socket.
    i64::from(unsafe { libc::socket(family, libc::SOCK_DGRAM, 0) })
}

/// Whether no address of the world can be reached.
fn leads_nowhere() -> bool {
    const SOMEWHERE: [&str; 3] = ["192.0.2.1:80", "[2001:db8::1]:80", "169.254.169.254:80"];
    let now = std::time::Duration::from_millis(1);
    let refusals = [libc::ENETUNREACH, libc::EACCES, libc::EPERM, libc::EADDRNOTAVAIL, libc::EAFNOSUPPORT];
    let refused = |error: &std::io::Error| error.raw_os_error().is_some_and(|errno| refusals.contains(&errno));
    SOMEWHERE.iter().all(|address| {
        let address = address.parse().expect("an address");
        std::net::TcpStream::connect_timeout(&address, now).is_err_and(|error| refused(&error))
    })
}

/// Whether connections are supervised. Nobody listens at `/`, which the kernel says and a supervisor does not.
fn named_sockets() -> (&'static str, bool) {
    let stream = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None);
    let (Ok(stream), Ok(root)) = (stream, SocketAddrUnix::new("/")) else {
        return ("Unix sockets cannot be used at all, because nothing can supervise them here", true);
    };
    let supervised = rustix::net::connect(&stream, &root) == Err(Errno::ACCESS);
    ("Unix sockets of other programs cannot be reached", supervised && socket(libc::AF_UNIX) == -1)
}

fn cannot_create_with_set_id(directory: &Path) -> bool {
    let opened = File::options().write(true).mode(0o4700).custom_flags(libc::O_TMPFILE).open(directory);
    opened.is_err_and(|error| error.raw_os_error() == Some(libc::EPERM))
}

fn mknod(path: &Path) -> i64 {
    let Ok(name) = CString::new(path.as_os_str().as_encoded_bytes()) else { return 0 };
    // SAFETY: the name is a NUL-terminated string that outlives the call.
    let made = unsafe { libc::mknod(name.as_ptr(), libc::S_IFCHR | 0o600, libc::makedev(1, 5)) };
    i64::from(made)
}

fn type_into_terminal() -> i64 {
    let Ok(null) = File::open("/dev/null") else { return 0 };
    // SAFETY: the argument is a null pointer, which the kernel refuses to read, and the descriptor is no terminal.
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
