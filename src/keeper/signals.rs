//! Signals read from a descriptor, so that one `poll` waits for signals and messages alike.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Blocked too: by default they stop a process, and a command may send them to us. SIGSTOP cannot be blocked; our parent
/// continues us then.
const STOPPING: [i32; 3] = [libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];

/// Blocks the signals. From now on they arrive at the returned descriptor. A launcher may have set them to be ignored; the
/// kernel sends no SIGCHLD to a parent that ignores it and drops the child's exit status, so they get their default action.
pub fn signal_descriptor(signals: &[i32]) -> io::Result<OwnedFd> {
    // SAFETY: an all-zero sigset_t is valid storage for sigemptyset, which initialises it; the calls only read and write
    // that set; the default action is no code of ours; signalfd's result is checked before it is owned.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        let mut blocked = set;
        for signal in signals {
            libc::sigaddset(&raw mut set, *signal);
            libc::signal(*signal, libc::SIG_DFL);
        }
        for signal in STOPPING.iter().chain(signals) {
            libc::sigaddset(&raw mut blocked, *signal);
        }
        if libc::sigprocmask(libc::SIG_BLOCK, &raw const blocked, std::ptr::null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
        let descriptor = libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        if descriptor < 0 { Err(io::Error::last_os_error()) } else { Ok(OwnedFd::from_raw_fd(descriptor)) }
    }
}

/// The next pending signal: its number and the pid of its sender, which is 0 for a sender outside our pid namespace.
pub fn next_signal(descriptor: &OwnedFd) -> Option<(i32, u32)> {
    // SAFETY: signalfd_siginfo is plain data, valid when zeroed.
    let mut info: libc::signalfd_siginfo = unsafe { std::mem::zeroed() };
    let size = size_of::<libc::signalfd_siginfo>();
    // SAFETY: the buffer is exactly one signalfd_siginfo and lives across the call.
    let got = unsafe { libc::read(descriptor.as_raw_fd(), (&raw mut info).cast(), size) };
    (usize::try_from(got) == Ok(size)).then(|| (info.ssi_signo.cast_signed(), info.ssi_pid))
}
