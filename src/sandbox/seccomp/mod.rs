//! Refuses system calls that no ordinary command needs and that could break the sandbox. A refused call fails with an
//! error, so a program that only tries it goes on. A call for another architecture kills the process.

mod calls;
mod filter;
mod set_id;

use std::os::fd::OwnedFd;

use seccompiler::SeccompCmpOp;

pub use self::calls::{REFUSED, Refused};
use self::filter::{Condition, Rules, bits, has};
use super::failure::Failure;
use super::supervise::{RENAMES, supervises_connections, supervises_listening, supervises_names, supervises_renames};
use super::{Level, Network, Profile};

/// Refused in `clone` and `unshare`, because a process has all capabilities in a new user namespace.
const NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];
/// Refused in `unshare` only: in `clone` this bit is part of the signal number.
const CLONE_NEWTIME: i32 = 0x80;

/// `ioctl` requests that insert input into a terminal, as if the person had typed it.
const TERMINAL_INJECTION: [u64; 2] = [libc::TIOCSTI, 0x541C /* TIOCLINUX */];

/// `supervisor` says whether there is one. Returns the descriptor from which it has to read the calls that it does for
/// commands.
pub fn install(profile: &Profile, supervisor: bool) -> Result<Option<OwnedFd>, Failure> {
    // First, because the other filters depend on it. If another supervisor is there already, we do without ours.
    let supervised = if supervisor { supervised(profile).install_supervised().ok() } else { None };
    let mut refused = Rules::default();
    if profile.level != Level::None {
        refuse_always(&mut refused);
    }
    if profile.level == Level::Landlock {
        calls::WITHOUT_IPC_NAMESPACE.iter().for_each(|call| refused.always(*call));
    }
    // Refuse every socket family but the allowed ones. `socketpair` is allowed: its sockets connect only to each other.
    let named = profile.level == Level::None || supervised.is_some() || !supervises_names(profile);
    let unlike: Vec<Condition> = families(profile, named, supervised.is_some())
        .into_iter()
        .map(|family| (0, SeccompCmpOp::Ne, family))
        .collect();
    if unlike.is_empty() {
        refused.always(libc::SYS_socket);
    } else {
        refused.when(libc::SYS_socket, &unlike);
    }
    if profile.network != Network::On {
        // Interfaces may be listed, which servers and language runtimes do. Other protocols of netlink are not needed.
        let protocol = (2, SeccompCmpOp::Ne, bits(libc::NETLINK_ROUTE));
        refused.when(libc::SYS_socket, &[(0, SeccompCmpOp::Eq, bits(libc::AF_NETLINK)), protocol]);
    }
    if profile.connects_to_proxy_only() {
        only_tcp(&mut refused);
    }
    if profile.level != Level::None {
        set_id::refuse(&mut refused, supervised.is_some());
    }
    refused.install(libc::EPERM)?;
    if profile.level != Level::None && supervises_names(profile) {
        // Datagram sockets need no connection: `sendmsg` takes a name from memory, where a filter cannot read it. An error of
        // its own lets `explain` recognise the refusal; the filter that is installed last decides which error it is.
        let mut unsupported = Rules::default();
        if named {
            datagrams(&mut unsupported, libc::SYS_socket);
        } else {
            unsupported.when(libc::SYS_socket, &[(0, SeccompCmpOp::Eq, bits(libc::AF_UNIX))]);
        }
        unsupported.install(libc::ESOCKTNOSUPPORT)?;
    }
    // A filter cannot read what these calls have in memory: the flags of clone3, the mode of openat2. Programs use the
    // older calls if these are missing.
    let mut missing = Rules::default();
    missing.always(libc::SYS_clone3);
    if profile.level != Level::None {
        missing.always(libc::SYS_openat2);
    }
    missing.install(libc::ENOSYS)?;
    Ok(supervised)
}

/// The calls that the supervisor does.
fn supervised(profile: &Profile) -> Rules {
    let mut rules = Rules::default();
    set_id::changes(&mut rules);
    if supervises_connections(profile) {
        rules.always(libc::SYS_connect);
    }
    if supervises_listening(profile) {
        rules.always(libc::SYS_listen);
    }
    if supervises_names(profile) {
        datagrams(&mut rules, libc::SYS_socketpair);
    }
    if supervises_renames(profile) {
        RENAMES.iter().for_each(|call| rules.always(*call));
    }
    rules
}

/// Leaves no way to send something to another host but `connect`, which is supervised.
fn only_tcp(refused: &mut Rules) {
    const TYPE: u64 = 0xf;
    for family in [libc::AF_INET, libc::AF_INET6].map(bits) {
        let family = (0, SeccompCmpOp::Eq, family);
        for kind in (0..=TYPE).filter(|kind| *kind != bits(libc::SOCK_STREAM)) {
            refused.when(libc::SYS_socket, &[family.clone(), (1, SeccompCmpOp::MaskedEq(TYPE), kind)]);
        }
        // Other protocols have calls of their own to connect.
        let others = [0, libc::IPPROTO_TCP].map(|protocol| (2, SeccompCmpOp::Ne, bits(protocol)));
        refused.when(libc::SYS_socket, &[&[family][..], &others].concat());
    }
    // With this flag, sending connects.
    for (call, flags) in [(libc::SYS_sendto, 3), (libc::SYS_sendmsg, 2), (libc::SYS_sendmmsg, 3)] {
        refused.when(call, &[(flags, has(libc::MSG_FASTOPEN), bits(libc::MSG_FASTOPEN))]);
    }
}

/// Holds for a call that makes a Unix datagram socket. Type `raw` is another name for that.
fn datagrams(rules: &mut Rules, call: i64) {
    const TYPE: u64 = 0xf;
    for kind in [libc::SOCK_DGRAM, libc::SOCK_RAW] {
        rules.when(call, &[(0, SeccompCmpOp::Eq, bits(libc::AF_UNIX)), (1, SeccompCmpOp::MaskedEq(TYPE), bits(kind))]);
    }
}

fn refuse_always(refused: &mut Rules) {
    REFUSED.iter().flat_map(Refused::numbers).for_each(|call| refused.always(call));
    for flag in NAMESPACES {
        refused.when(libc::SYS_clone, &[(0, has(flag), bits(flag))]);
    }
    for flag in NAMESPACES.into_iter().chain([CLONE_NEWTIME]) {
        refused.when(libc::SYS_unshare, &[(0, has(flag), bits(flag))]);
    }
    // The limits of another process: a command could take the descriptors of its keeper away, at level `landlock` even those
    // of the server.
    refused.when(libc::SYS_prlimit64, &[(0, SeccompCmpOp::Ne, 0)]);
    for request in TERMINAL_INJECTION {
        refused.when(libc::SYS_ioctl, &[(1, SeccompCmpOp::Eq, request)]);
    }
}

/// The socket families that a profile allows. Without `named`, nothing could keep a Unix socket from being connected to a
/// program outside. Without `supervised`, nothing could keep a TCP socket from being connected to another host.
fn families(profile: &Profile, named: bool, supervised: bool) -> Vec<u64> {
    let inner = match profile.network {
        Network::On => vec![libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK],
        Network::Loopback | Network::Hosts if profile.level == Level::Full => {
            vec![libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK]
        }
        Network::Hosts if supervised => vec![libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK],
        Network::Off | Network::Loopback | Network::Hosts => vec![],
    };
    let unix = named.then_some(libc::AF_UNIX);
    inner.into_iter().chain(unix).map(bits).collect()
}
