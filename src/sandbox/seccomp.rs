//! Refuses system calls that no ordinary command needs and that could break the sandbox. A refused call fails with an
//! error, so a program that only tries it goes on. A call for another architecture kills the process.

use std::collections::BTreeMap;
use std::io;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter, sock_filter,
};

use super::failure::{Doing, Failure};
use super::profile::Sockets;
use super::{Level, Network, Profile, landlock};

/// System calls that are always refused, grouped by reason: what such a call does.
const REFUSED: &[(&str, &[i64])] = &[
    (
        "does file and socket work where no filter sees it",
        &[libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register],
    ),
    (
        "reaches into other processes",
        &[
            libc::SYS_ptrace,
            libc::SYS_process_vm_readv,
            libc::SYS_process_vm_writev,
            libc::SYS_pidfd_getfd,
            libc::SYS_kcmp,
        ],
    ),
    (
        "runs in the kernel or watches it",
        &[
            libc::SYS_bpf,
            libc::SYS_perf_event_open,
            libc::SYS_userfaultfd,
            libc::SYS_syslog,
            libc::SYS_init_module,
            libc::SYS_finit_module,
            libc::SYS_delete_module,
            libc::SYS_kexec_load,
            libc::SYS_kexec_file_load,
        ],
    ),
    (
        "uses the kernel's keys, which are not the session's",
        &[libc::SYS_add_key, libc::SYS_request_key, libc::SYS_keyctl],
    ),
    (
        "changes what is mounted",
        &[
            libc::SYS_mount,
            libc::SYS_umount2,
            libc::SYS_pivot_root,
            libc::SYS_chroot,
            libc::SYS_move_mount,
            libc::SYS_open_tree,
            libc::SYS_fsopen,
            libc::SYS_fsconfig,
            libc::SYS_fsmount,
            libc::SYS_fspick,
            libc::SYS_mount_setattr,
            libc::SYS_quotactl,
            libc::SYS_quotactl_fd,
            libc::SYS_swapon,
            libc::SYS_swapoff,
        ],
    ),
    ("enters another namespace", &[libc::SYS_setns]),
    ("opens files by number, past every path", &[libc::SYS_open_by_handle_at]),
    (
        "concerns the whole machine",
        &[
            libc::SYS_reboot,
            libc::SYS_acct,
            libc::SYS_settimeofday,
            libc::SYS_clock_settime,
            libc::SYS_vhangup,
            #[cfg(target_arch = "x86_64")]
            libc::SYS_iopl,
            #[cfg(target_arch = "x86_64")]
            libc::SYS_ioperm,
        ],
    ),
];

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
    // Refuse every socket family but the allowed ones. `socketpair` is allowed: its sockets connect only to each other.
    let unlike = families(profile).into_iter().map(|family| (0, SeccompCmpOp::Ne, family)).collect::<Vec<_>>();
    if unlike.is_empty() {
        refused.always(libc::SYS_socket);
    } else {
        refused.when(libc::SYS_socket, &unlike);
    }
    apply(refused, libc::EPERM)?;
    // A filter cannot read the flags of clone3, which are in memory. Programs fall back to clone if clone3 is missing.
    let mut missing = Rules::default();
    missing.always(libc::SYS_clone3);
    apply(missing, libc::ENOSYS)
}

fn refuse_always(refused: &mut Rules) {
    REFUSED.iter().flat_map(|(_, calls)| *calls).for_each(|call| refused.always(*call));
    for flag in NAMESPACES {
        refused.when(libc::SYS_clone, &[(0, has(flag), bits(flag))]);
    }
    for flag in NAMESPACES.into_iter().chain([CLONE_NEWTIME]) {
        refused.when(libc::SYS_unshare, &[(0, has(flag), bits(flag))]);
    }
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

#[derive(Default)]
struct Rules(BTreeMap<i64, Vec<SeccompRule>>);

impl Rules {
    fn always(&mut self, call: i64) {
        self.0.insert(call, Vec::new());
    }

    /// Refuses a call if all conditions hold: the index of an argument, a comparison, a value. The kernel uses only the low
    /// 32 bits of these arguments, so the filter compares only those.
    fn when(&mut self, call: i64, conditions: &[(u8, SeccompCmpOp, u64)]) {
        let conditions = conditions
            .iter()
            .map(|(argument, is, value)| {
                SeccompCondition::new(*argument, SeccompCmpArgLen::Dword, is.clone(), *value)
                    .expect("a system call has six arguments")
            })
            .collect();
        self.0.entry(call).or_default().push(SeccompRule::new(conditions).expect("there are conditions"));
    }
}

fn has(flag: i32) -> SeccompCmpOp {
    SeccompCmpOp::MaskedEq(bits(flag))
}

fn bits(flag: i32) -> u64 {
    u64::from(flag.cast_unsigned())
}

fn apply(rules: Rules, errno: i32) -> Result<(), Failure> {
    let program = || -> Result<BpfProgram, seccompiler::BackendError> {
        let action = SeccompAction::Errno(errno.cast_unsigned());
        let architecture = TargetArch::try_from(std::env::consts::ARCH)?;
        SeccompFilter::new(rules.0, SeccompAction::Allow, action, architecture)?.try_into()
    };
    let program = program().map_err(io::Error::other).doing(|| "make the system call filter".to_owned())?;
    let program: BpfProgram = refuse_x32().into_iter().chain(program).collect();
    apply_filter(&program).map_err(io::Error::other).doing(|| "install the system call filter".to_owned())
}

/// On x86-64 each call has a second number, with the x32 bit set. The filter does not know these numbers, so all of them are
/// refused.
fn refuse_x32() -> Vec<sock_filter> {
    const X32: u32 = 0x4000_0000;
    const LOAD_NUMBER: u16 = 0x20;
    const JUMP_IF_GREATER_OR_EQUAL: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const ERROR: u32 = 0x0005_0000;
    if cfg!(not(target_arch = "x86_64")) {
        return Vec::new();
    }
    vec![
        sock_filter { code: LOAD_NUMBER, jt: 0, jf: 0, k: 0 },
        // A number with the bit continues to the refusal; any other number skips it.
        sock_filter { code: JUMP_IF_GREATER_OR_EQUAL, jt: 0, jf: 1, k: X32 },
        sock_filter { code: RETURN, jt: 0, jf: 0, k: ERROR | libc::ENOSYS.cast_unsigned() },
    ]
}
