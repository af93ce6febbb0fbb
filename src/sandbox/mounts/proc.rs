//! The session's own `/proc`. It shows only the session's processes; the files about the whole machine are read-only or
//! hidden.

use std::path::Path;

use rustix::mount::MountFlags;

use super::super::Profile;
use super::super::failure::{Doing, Failure};
use super::hide::hide;
use super::{bind, calls};

/// Root owns these, so it could write them even without capabilities.
const READ_ONLY: [&str; 9] = ["sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi", "asound", "mtrr"];
/// These show memory, keys and timers of the whole machine.
const HIDDEN: [&str; 5] = ["kcore", "keys", "timer_list", "latency_stats", "sched_debug"];

/// The kernel does not hand out pids up to 300 a second time, so it accepts no smaller `pid_max`.
const SMALLEST_PID_LIMIT: u64 = 301;

pub fn build(profile: &Profile) -> Result<(), Failure> {
    let proc = Path::new("/proc");
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    calls::mount_new("proc", proc, flags, "").doing(|| "mount the session's /proc".to_owned())?;
    if rustix::process::geteuid().is_root() {
        // RLIMIT_NPROC does not apply to root. Since Linux 6.14 each pid namespace has its own largest pid, which limits
        // the number of processes just as well. On older kernels only the keeper counts them.
        let most = profile.limits.processes.max(SMALLEST_PID_LIMIT);
        let _ = std::fs::write(proc.join("sys/kernel/pid_max"), most.to_string());
    }
    for name in READ_ONLY {
        bind(&proc.join(name), libc::MOUNT_ATTR_RDONLY)?;
    }
    HIDDEN.into_iter().try_for_each(|name| hide(&proc.join(name)))
}
