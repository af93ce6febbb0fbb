//! The system calls that are refused whatever their arguments, grouped by reason: what such a call does.

/// System calls that are refused for one reason.
#[derive(Debug)]
pub struct Refused {
    /// What such a call does.
    pub does: &'static str,
    /// Whether the kernel lets nobody but root do it, outside too.
    pub only_root: bool,
    calls: &'static [(&'static str, i64)],
}

impl Refused {
    pub fn numbers(&self) -> impl Iterator<Item = i64> {
        self.calls.iter().map(|(_, number)| *number)
    }

    /// As the manual calls them: `ptrace`.
    pub fn names(&self) -> impl Iterator<Item = String> {
        self.calls.iter().map(|(constant, _)| constant.rsplit("SYS_").next().unwrap_or_default().to_ascii_lowercase())
    }
}

/// System calls with the names of their constants.
macro_rules! calls {
    ($($(#[$condition:meta])? $call:path),* $(,)?) => { &[$($(#[$condition])? (stringify!($call), $call)),*] };
}

pub const REFUSED: &[Refused] = &[
    Refused {
        does: "does file and socket work where no filter sees it",
        only_root: false,
        calls: calls![libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register],
    },
    Refused {
        does: "reaches into other processes",
        only_root: false,
        calls: calls![
            libc::SYS_ptrace,
            libc::SYS_process_vm_readv,
            libc::SYS_process_vm_writev,
            libc::SYS_pidfd_getfd,
            libc::SYS_kcmp
        ],
    },
    Refused {
        does: "runs in the kernel or watches it",
        only_root: true,
        calls: calls![
            libc::SYS_bpf,
            libc::SYS_perf_event_open,
            libc::SYS_userfaultfd,
            libc::SYS_syslog,
            libc::SYS_init_module,
            libc::SYS_finit_module,
            libc::SYS_delete_module,
            libc::SYS_kexec_load,
            libc::SYS_kexec_file_load
        ],
    },
    Refused {
        does: "uses the kernel's keys, which are not the session's",
        only_root: false,
        calls: calls![libc::SYS_add_key, libc::SYS_request_key, libc::SYS_keyctl],
    },
    Refused {
        does: "changes what is mounted",
        only_root: true,
        calls: calls![
            libc::SYS_mount,
            libc::SYS_umount2,
            libc::SYS_pivot_root,
            libc::SYS_chroot,
            libc::SYS_move_mount,
            libc::SYS_open_tree,
            OPEN_TREE_ATTR,
            libc::SYS_fsopen,
            libc::SYS_fsconfig,
            libc::SYS_fsmount,
            libc::SYS_fspick,
            libc::SYS_mount_setattr,
            libc::SYS_quotactl,
            libc::SYS_quotactl_fd,
            libc::SYS_swapon,
            libc::SYS_swapoff
        ],
    },
    Refused { does: "enters another namespace", only_root: true, calls: calls![libc::SYS_setns] },
    Refused {
        does: "opens files by number, past every path",
        only_root: true,
        calls: calls![libc::SYS_open_by_handle_at],
    },
    Refused {
        does: "concerns the whole machine",
        only_root: true,
        calls: calls![
            libc::SYS_reboot,
            libc::SYS_acct,
            libc::SYS_settimeofday,
            libc::SYS_clock_settime,
            libc::SYS_vhangup,
            #[cfg(target_arch = "x86_64")]
            libc::SYS_iopl,
            #[cfg(target_arch = "x86_64")]
            libc::SYS_ioperm
        ],
    },
];

/// Shared memory, semaphores and queues that have no path. An IPC namespace makes them the session's own; without one they
/// are those of every program of the user, so they are refused.
pub const WITHOUT_IPC_NAMESPACE: &[i64] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmdt,
    libc::SYS_shmctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

/// The newest system call that we have looked at: `file_setattr` of Linux 6.17. A newer one does not exist for commands,
/// because nobody has decided yet whether it leads out. From 424 on, every architecture has the same numbers.
pub const NEWEST_KNOWN: u32 = 469;

/// Linux 6.15; not every version of libc knows it.
const OPEN_TREE_ATTR: i64 = 467;
