//! Refuses system calls that no ordinary command needs and that could break the sandbox. A refused call fails with an
//! error, so a program that only tries it goes on. A call for another architecture kills the process.

mod calls;
mod filter;

use seccompiler::SeccompCmpOp;

use self::filter::{Condition, Rules, bits, has};
use super::failure::Failure;
use super::profile::Sockets;
use super::{Level, Network, Profile, landlock};

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

pub fn install(profile: &Profile) -> Result<(), Failure> {
    let mut refused = Rules::default();
    if profile.level != Level::None {
        refuse_always(&mut refused);
    }
    if profile.level == Level::Landlock {
        calls::WITHOUT_IPC_NAMESPACE.iter().for_each(|call| refused.always(*call));
    }
    // Refuse every socket family but the allowed ones. `socketpair` is allowed: its sockets connect only to each other.
    let unlike: Vec<Condition> = families(profile).into_iter().map(|family| (0, SeccompCmpOp::Ne, family)).collect();
    if unlike.is_empty() {
        refused.always(libc::SYS_socket);
    } else {
        refused.when(libc::SYS_socket, &unlike);
    }
    refused.install(libc::EPERM)?;
    // A filter cannot read the flags of clone3, which are in memory. Programs fall back to clone if clone3 is missing.
    let mut missing = Rules::default();
    missing.always(libc::SYS_clone3);
    missing.install(libc::ENOSYS)
}

fn refuse_always(refused: &mut Rules) {
    calls::REFUSED.iter().flat_map(|(_, calls)| *calls).for_each(|call| refused.always(*call));
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

/// The socket families that a profile allows.
fn families(profile: &Profile) -> Vec<u64> {
    let named_sockets =
        profile.level != Level::Landlock || profile.sockets == Sockets::All || landlock::knows_sockets();
    let inner = match profile.network {
        Network::On => vec![libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK],
        Network::Loopback if profile.level == Level::Full => vec![libc::AF_INET, libc::AF_INET6],
        Network::Off | Network::Loopback => vec![],
    };
    let unix = named_sockets.then_some(libc::AF_UNIX);
    inner.into_iter().chain(unix).map(bits).collect()
}
