//! The thread that made a call: its memory, descriptors, directories and user.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

pub struct Caller {
    pid: i32,
    process: OwnedFd,
}

/// Since Linux 6.9 a pidfd can stand for a single thread, which may have descriptors of its own.
const PIDFD_THREAD: PidfdFlags = PidfdFlags::from_bits_retain(libc::O_EXCL.cast_unsigned());

impl Caller {
    pub fn open(pid: i32) -> io::Result<Self> {
        let thread = Pid::from_raw(pid).ok_or(io::ErrorKind::InvalidInput)?;
        let process = pidfd_open(thread, PIDFD_THREAD).or_else(|_| {
            let leader = Pid::from_raw(field(pid, "Tgid:").unwrap_or(pid)).unwrap_or(thread);
            pidfd_open(leader, PidfdFlags::empty())
        })?;
        Ok(Self { pid, process })
    }

    pub fn process(&self) -> BorrowedFd<'_> {
        self.process.as_fd()
    }

    /// Our own copy of a descriptor of the caller.
    pub fn descriptor(&self, number: i32) -> io::Result<OwnedFd> {
        Ok(pidfd_getfd(&self.process, number, PidfdGetfdFlags::empty())?)
    }

    /// Fills the buffer from the caller's memory.
    pub fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
        let local = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        let remote = remote(address, buffer.len());
        // SAFETY: the local buffer lives across the call; the kernel checks the address in the other process.
        let count = unsafe { libc::process_vm_readv(self.pid, &raw const local, 1, &raw const remote, 1, 0) };
        complete(count, buffer.len())
    }

    pub fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()> {
        let local = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        let remote = remote(address, bytes.len());
        // SAFETY: the kernel only reads the local bytes, and checks the address in the other process.
        let count = unsafe { libc::process_vm_writev(self.pid, &raw const local, 1, &raw const remote, 1, 0) };
        complete(count, bytes.len())
    }

    /// A path that ends with NUL. Memory is read page by page, because the page after the NUL may not exist.
    pub fn read_path(&self, address: u64) -> io::Result<PathBuf> {
        use std::os::unix::ffi::OsStringExt;
        const PAGE: u64 = 4096;
        let mut path = Vec::new();
        while path.len() < libc::PATH_MAX.cast_unsigned() as usize {
            let at = address + path.len() as u64;
            let mut page = vec![0; usize::try_from(PAGE - at % PAGE).unwrap_or(1)];
            self.read(at, &mut page)?;
            match page.iter().position(|byte| *byte == 0) {
                Some(end) => {
                    path.extend(&page[..end]);
                    return Ok(PathBuf::from(std::ffi::OsString::from_vec(path)));
                }
                None => path.extend(page),
            }
        }
        Err(io::Error::from_raw_os_error(libc::ENAMETOOLONG))
    }

    /// The target of `/proc/PID/NAME`: a path as the session sees it.
    pub fn link(&self, name: &str) -> io::Result<PathBuf> {
        std::fs::read_link(format!("/proc/{}/{name}", self.pid))
    }

    pub fn status(&self) -> io::Result<String> {
        std::fs::read_to_string(format!("/proc/{}/status", self.pid))
    }
}

/// A number in `/proc/PID/status`; the last one, if there are several.
pub fn field(pid: i32, name: &str) -> Option<i32> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with(name))?;
    line.split_whitespace().last()?.parse().ok()
}

/// Whether we can do our work: read the memory and copy the descriptors of a process that we have just forked, which has
/// this descriptor. Some containers refuse that.
pub fn can_inspect(child: i32, descriptor: BorrowedFd<'_>) -> bool {
    static KNOWN: [u8; 4] = *b"here";
    let try_it = || -> io::Result<bool> {
        let mut read = [0; 4];
        let caller = Caller::open(child)?;
        caller.read(KNOWN.as_ptr() as u64, &mut read)?;
        caller.descriptor(descriptor.as_fd().as_raw_fd())?;
        // A /proc of another pid namespace would show us other processes.
        let own = std::fs::read_link("/proc/self")?;
        Ok(read == KNOWN && own.to_str() == Some(&std::process::id().to_string()))
    };
    try_it().unwrap_or(false)
}

fn remote(address: u64, length: usize) -> libc::iovec {
    libc::iovec { iov_base: std::ptr::without_provenance_mut(usize::try_from(address).unwrap_or(0)), iov_len: length }
}

fn complete(count: isize, wanted: usize) -> io::Result<()> {
    match usize::try_from(count) {
        Ok(count) if count == wanted => Ok(()),
        Ok(_) => Err(io::Error::from_raw_os_error(libc::EFAULT)),
        Err(_) => Err(io::Error::last_os_error()),
    }
}
