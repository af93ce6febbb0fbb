//! The few system calls that guard, keeper and reaper share, each with a safe face.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, send, sendmsg,
};

use super::protocol::{ExitStatus, MOST_DESCRIPTORS};

/// The two sides of a fork, told apart by type.
pub enum Forked {
    Child,
    Parent { child: i32 },
}

/// Only ever called from a process with a single thread, where everything is allowed in the child.
pub fn fork() -> io::Result<Forked> {
    // SAFETY: guard, keeper and reaper have one thread each, so the child owns a consistent copy of the heap and no lock
    // is held by a thread that does not exist any more.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Forked::Child),
        child => Ok(Forked::Parent { child }),
    }
}

/// Blocks the signals and delivers them through a descriptor instead.
pub fn signal_descriptor(signals: &[i32]) -> io::Result<OwnedFd> {
    // SAFETY: an all-zero sigset_t is valid storage for sigemptyset, which initialises it; the calls only read and write
    // that set, and signalfd's result is checked before it is owned.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in signals {
            libc::sigaddset(&raw mut set, *signal);
        }
        if libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
        let descriptor = libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        if descriptor < 0 { Err(io::Error::last_os_error()) } else { Ok(OwnedFd::from_raw_fd(descriptor)) }
    }
}

/// The next signal that waits in the descriptor: its number and its sender's pid (0 from outside the pid namespace).
pub fn next_signal(descriptor: &OwnedFd) -> Option<(i32, u32)> {
    // SAFETY: signalfd_siginfo is plain data, valid when zeroed.
    let mut info: libc::signalfd_siginfo = unsafe { std::mem::zeroed() };
    let size = size_of::<libc::signalfd_siginfo>();
    // SAFETY: the buffer is exactly one signalfd_siginfo and lives across the call.
    let got = unsafe { libc::read(descriptor.as_raw_fd(), (&raw mut info).cast(), size) };
    (usize::try_from(got) == Ok(size)).then(|| (info.ssi_signo.cast_signed(), info.ssi_pid))
}

/// What [`wait_any`] found.
pub enum Waited {
    Ended {
        pid: i32,
        status: ExitStatus,
    },
    /// Children exist, none has ended.
    NoneYet,
    NoChildren,
}

pub fn wait_any() -> Waited {
    let mut status = 0;
    // SAFETY: `status` is a valid place for the result.
    let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) };
    match pid {
        0 => Waited::NoneYet,
        -1 => Waited::NoChildren,
        pid if libc::WIFSIGNALED(status) => Waited::Ended { pid, status: ExitStatus::Signal(libc::WTERMSIG(status)) },
        pid => Waited::Ended { pid, status: ExitStatus::Code(libc::WEXITSTATUS(status)) },
    }
}

/// Our process group; 0 where it was made outside our pid namespace, which safer wrappers do not expect.
pub fn own_group() -> i32 {
    // SAFETY: takes nothing and cannot fail.
    unsafe { libc::getpgrp() }
}

pub fn kill(pid: i32, signal: i32) {
    // SAFETY: kill takes no pointers; a pid that is gone is an error we do not mind.
    unsafe { libc::kill(pid, signal) };
}

pub fn become_sub_reaper() {
    // SAFETY: prctl with integer arguments only.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
}

/// Which signal the kernel sends us when our parent dies.
pub fn on_parent_death(signal: i32) {
    // SAFETY: prctl with integer arguments only.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, signal, 0, 0, 0) };
}

/// What `ps` shows, so that a person can tell the three roles apart.
pub fn set_name(name: &std::ffi::CStr) {
    // SAFETY: the pointer is a NUL-terminated string that outlives the call; the kernel copies 16 bytes at most.
    unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr(), 0, 0, 0) };
}

/// Which of the descriptors can be read or has hung up; waits for as long as it takes, or at most `millis`.
pub fn wait_for(descriptors: &[(BorrowedFd<'_>, PollFlags)], millis: Option<i64>) -> Vec<PollFlags> {
    let mut polled: Vec<PollFd<'_>> =
        descriptors.iter().map(|(descriptor, events)| PollFd::from_borrowed_fd(*descriptor, *events)).collect();
    let limit =
        millis.map(|millis| rustix::event::Timespec { tv_sec: millis / 1000, tv_nsec: millis % 1000 * 1_000_000 });
    // An interrupted poll reports nothing ready and the caller's loop comes round again.
    let _ = poll(&mut polled, limit.as_ref());
    polled.iter().map(PollFd::revents).collect()
}

/// One message with the descriptors that came along; an empty message is the end of the socket.
pub fn receive(socket: impl AsFd, buffer: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let message = recvmsg(socket, &mut [io::IoSliceMut::new(buffer)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let mut descriptors = Vec::new();
    for part in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = part {
            descriptors.extend(received);
        }
    }
    Ok((message.bytes, descriptors))
}

/// A message with a descriptor beside it.
pub fn send_with(socket: impl AsFd, message: &[u8], descriptor: BorrowedFd<'_>) {
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let descriptors = [descriptor];
    ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
    let _ = sendmsg(socket, &[io::IoSlice::new(message)], &mut ancillary, SendFlags::NOSIGNAL);
}

pub fn send_message(socket: impl AsFd, message: &[u8]) {
    // A peer that is gone is noticed by its hang-up, not here.
    let _ = send(socket, message, SendFlags::NOSIGNAL);
}

/// Closes every descriptor from `first` on.
pub fn close_from(first: u32) {
    // SAFETY: close_range takes integers; the caller owns no descriptor above `first` that it still uses.
    unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0) };
}

/// Closes a descriptor whose owner lives on in the parent process, from a fork that never returns.
pub fn close(descriptor: &OwnedFd) {
    // SAFETY: the caller's copy of the owner is never used or dropped again, because its process ends by `_exit`.
    unsafe { libc::close(descriptor.as_raw_fd()) };
}

/// Ends the process at once, without running destructors that belong to the parent's copy of the world.
pub fn exit(code: i32) -> ! {
    // SAFETY: _exit has no preconditions.
    unsafe { libc::_exit(code) }
}
