//! System calls about processes: fork, wait, kill, prctl, exit. Each has a safe signature.

use std::io;

use super::protocol::ExitStatus;

/// On which side of a fork we are.
pub enum Forked {
    Child,
    Parent { child: i32 },
}

/// For a process with a single thread only. Its child may do anything, not just what is async-signal-safe.
pub fn fork() -> io::Result<Forked> {
    // SAFETY: guard, keeper and reaper have one thread each, so the child owns a consistent copy of the heap and no lock
    // is held by a thread that does not exist any more.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Forked::Child),
        child => Ok(Forked::Parent { child }),
    }
}

/// What [`wait_any`] found.
pub enum Waited {
    Ended {
        pid: i32,
        status: ExitStatus,
    },
    /// A child was stopped by a signal. Told once each time.
    Stopped {
        pid: i32,
    },
    /// There are children, but none of them has ended.
    NoneYet,
    NoChildren,
}

/// Reaps one child that has ended, or tells of one that was stopped. Does not block.
pub fn wait_any() -> Waited {
    let mut status = 0;
    // SAFETY: `status` is a valid place for the result.
    let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG | libc::WUNTRACED) };
    match pid {
        0 => Waited::NoneYet,
        -1 => Waited::NoChildren,
        pid if libc::WIFSTOPPED(status) => Waited::Stopped { pid },
        pid => Waited::Ended { pid, status: exit_status(status) },
    }
}

/// From the number that `waitpid` returns for a process that has ended.
pub fn exit_status(status: i32) -> ExitStatus {
    if libc::WIFSIGNALED(status) {
        ExitStatus::Signal(libc::WTERMSIG(status))
    } else {
        ExitStatus::Code(libc::WEXITSTATUS(status))
    }
}

/// Reaps this child, if it has ended.
pub fn reap(pid: i32) {
    // SAFETY: a null pointer means that nobody wants the status.
    unsafe { libc::waitpid(pid, std::ptr::null_mut(), libc::WNOHANG) };
}

/// Waits until a child of ours has ended, and reaps it.
pub fn wait_for(child: i32) {
    // SAFETY: a null pointer means that the status is not wanted.
    while unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) } == -1
        && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
    {}
}

pub fn own_pid() -> i32 {
    rustix::process::getpid().as_raw_nonzero().get()
}

/// Our process group. It is 0 if the group was created outside our pid namespace; rustix does not expect that, so we call
/// libc.
pub fn own_group() -> i32 {
    // SAFETY: takes nothing and cannot fail.
    unsafe { libc::getpgrp() }
}

/// The process group of a process; 0 if it is gone or if the group was created outside our pid namespace.
pub fn group(pid: i32) -> i32 {
    // SAFETY: takes no pointers.
    unsafe { libc::getpgid(pid) }.max(0)
}

/// Whether there is such a process, zombies included.
pub fn exists(pid: i32) -> bool {
    // SAFETY: kill takes no pointers, and signal 0 is never sent.
    unsafe { libc::kill(pid, 0) == 0 || *libc::__errno_location() == libc::EPERM }
}

pub fn kill(pid: i32, signal: i32) {
    // SAFETY: kill takes no pointers. An error means that the process is gone, which is fine.
    unsafe { libc::kill(pid, signal) };
}

/// From now on, orphans among our descendants become our children.
pub fn become_sub_reaper() {
    // SAFETY: prctl with integer arguments only.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
}

/// Has the kernel send us this signal when our parent dies.
pub fn on_parent_death(signal: i32) {
    // SAFETY: prctl with integer arguments only.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, signal, 0, 0, 0) };
}

/// Sets the name that `ps` shows, so that a person can tell guard, keeper and reaper apart.
pub fn set_name(name: &std::ffi::CStr) {
    // SAFETY: the pointer is a NUL-terminated string that outlives the call; the kernel copies 16 bytes at most.
    unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr(), 0, 0, 0) };
}

/// Ends the process at once. A forked child must not run the destructors of values that its parent still uses.
pub fn exit(code: i32) -> ! {
    // SAFETY: _exit has no preconditions.
    unsafe { libc::_exit(code) }
}
