//! The kernel's side of supervised calls: a descriptor from which calls are read and to which answers are written.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use super::Refused;

/// Comes from installing the filter. When the last copy is closed, supervised calls fail with ENOSYS.
pub struct Listener(OwnedFd);

/// A call whose caller waits for our answer.
pub struct Notification {
    pub id: u64,
    /// The calling thread.
    pub pid: i32,
    pub number: i64,
    pub arguments: [u64; 6],
}

impl Notification {
    /// An argument that the kernel takes as a 32-bit number, such as a descriptor.
    #[expect(clippy::cast_possible_truncation, reason = "the kernel looks at no more bits either")]
    pub fn number_at(&self, index: usize) -> i32 {
        self.arguments[index] as i32
    }
}

impl Listener {
    pub fn new(descriptor: OwnedFd) -> Self {
        const SYNC_WAKE_UP: u64 = 1;
        // Caller and supervisor take turns, so the kernel need not look for another CPU (Linux 6.6). Without it we are
        // only slower.
        // SAFETY: this request takes flags, not a pointer.
        unsafe { libc::ioctl(descriptor.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS, SYNC_WAKE_UP) };
        Self(descriptor)
    }

    pub fn next(&self) -> io::Result<Notification> {
        // SAFETY: seccomp_notif is plain data, valid when zeroed; the kernel requires it to be zeroed.
        let mut call: libc::seccomp_notif = unsafe { std::mem::zeroed() };
        self.control(libc::SECCOMP_IOCTL_NOTIF_RECV, &mut call)?;
        Ok(Notification {
            id: call.id,
            pid: call.pid.cast_signed(),
            number: i64::from(call.data.nr),
            arguments: call.data.args,
        })
    }

    /// Whether the caller still waits. If so, its pid was not given to another process since the call came.
    pub fn is_waiting(&self, id: u64) -> bool {
        let mut id = id;
        self.control(libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &mut id).is_ok()
    }

    /// What we have read of a caller belongs to this call only if the caller still waits afterwards.
    pub fn still_waits(&self, call: &Notification) -> Result<(), Refused> {
        if self.is_waiting(call.id) { Ok(()) } else { Err(rustix::io::Errno::SRCH.into()) }
    }

    /// Ends the call with 0 or an error. Returns `false` if the caller does not wait any more, because of a signal.
    pub fn answer(&self, id: u64, result: Result<(), i32>) -> bool {
        let error = result.err().map_or(0, |errno| -errno);
        let mut answer = libc::seccomp_notif_resp { id, val: 0, error, flags: 0 };
        self.control(libc::SECCOMP_IOCTL_NOTIF_SEND, &mut answer).is_ok()
    }

    /// Has the kernel go on with the caller's own call. Only for a call about which nothing is decided: the caller can change
    /// what its arguments point to.
    pub fn go_on(&self, id: u64) {
        #[expect(clippy::cast_possible_truncation, reason = "the flag is 1")]
        let flags = libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32;
        let mut answer = libc::seccomp_notif_resp { id, val: 0, error: 0, flags };
        let _ = self.control(libc::SECCOMP_IOCTL_NOTIF_SEND, &mut answer);
    }

    /// Gives the caller a copy of our descriptor. Returns its number there.
    pub fn give(&self, id: u64, descriptor: &OwnedFd, close_on_exec: bool) -> io::Result<i32> {
        let mut request = libc::seccomp_notif_addfd {
            id,
            flags: 0,
            srcfd: descriptor.as_raw_fd().cast_unsigned(),
            newfd: 0,
            newfd_flags: if close_on_exec { libc::O_CLOEXEC.cast_unsigned() } else { 0 },
        };
        self.control(libc::SECCOMP_IOCTL_NOTIF_ADDFD, &mut request)
    }

    fn control<T>(&self, request: libc::Ioctl, argument: &mut T) -> io::Result<i32> {
        // SAFETY: every request above comes with the structure that the kernel reads and writes for it.
        match unsafe { libc::ioctl(self.0.as_raw_fd(), request, std::ptr::from_mut(argument)) } {
            -1 => Err(io::Error::last_os_error()),
            result => Ok(result),
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
