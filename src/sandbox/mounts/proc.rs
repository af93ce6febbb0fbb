//! A `/proc` that knows the session's processes only, without the parts that speak for or to the whole machine.

use std::path::Path;

use rustix::mount::MountFlags;

use super::super::Profile;
use super::super::failure::{Doing, Failure};
use super::hide::put_over;
use super::{bind, calls};

/// Root may write these, whatever its capabilities: it owns them.
const READ_ONLY: [&str; 9] = ["sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi", "asound", "mtrr"];
/// Memory, keys and timers of the whole machine.
const HIDDEN: [&str; 5] = ["kcore", "keys", "timer_list", "latency_stats", "sched_debug"];

/// Pids below this are never given out twice, and the kernel takes no smaller limit.
const SMALLEST_PID_LIMIT: u64 = 301;

pub fn build(profile: &Profile) -> Result<(), Failure> {
    let proc = Path::new("/proc");
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    calls::fresh("proc", proc, flags, "").doing(|| "mount the session's /proc".to_owned())?;
    if rustix::process::geteuid().is_root() {
        // For root the kernel counts no processes against a limit, but since Linux 6.14 a pid namespace has a largest
        // pid of its own, which comes to the same. On older kernels the keeper counts.
        let most = profile.limits.processes.max(SMALLEST_PID_LIMIT);
        let _ = std::fs::write(proc.join("sys/kernel/pid_max"), most.to_string());
    }
    for name in READ_ONLY {
        bind(&proc.join(name), libc::MOUNT_ATTR_RDONLY)?;
    }
    HIDDEN.into_iter().try_for_each(|name| put_over(&proc.join(name)))
}
