//! A process that stays outside when the server moves into a user namespace of its own, as it does for a draft. From in there
//! the kernel does not let the server see which sockets a process outside holds, and every client would be refused.
//!
//! It does one thing: it says which process holds a socket. It ends with the server.

use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, OnceLock};

use super::processes;
use crate::base::locks::LockExt;

static LOOKOUT: OnceLock<Mutex<UnixStream>> = OnceLock::new();

/// Leaves one behind. For a process with a single thread, before it changes its namespaces.
pub fn leave_behind() -> io::Result<()> {
    let (ours, theirs) = UnixStream::pair()?;
    let server = rustix::process::getpid().as_raw_nonzero().get();
    // SAFETY: this process has one thread, so the child's copy of the heap is consistent and no lock is held by a thread
    // that does not exist any more.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            drop(ours);
            serve(theirs, server);
            // SAFETY: ends the child without running what the server has registered for its exit.
            unsafe { libc::_exit(0) }
        }
        _ => {
            let _ = LOOKOUT.set(Mutex::new(ours));
            Ok(())
        }
    }
}

/// The process that holds a socket, as the one outside sees it. `None` if none was left behind.
pub fn ask(inode: u64) -> Option<Option<i32>> {
    let mut lookout = LOOKOUT.get()?.locked();
    let mut answer = [0; 4];
    let asked = lookout.write_all(&inode.to_le_bytes()).and_then(|()| lookout.read_exact(&mut answer));
    // Nothing is known without it, so nobody is let in.
    Some(asked.ok().map(|()| i32::from_le_bytes(answer)).filter(|pid| *pid > 0))
}

fn serve(mut socket: UnixStream, server: i32) {
    // The server's streams must not stay open because of us.
    // SAFETY: nothing else in this process uses these descriptors; the socket is moved to 0 first.
    unsafe {
        libc::prctl(libc::PR_SET_NAME, c"testudo-lookout".as_ptr());
        libc::setsid();
        libc::dup2(socket.as_raw_fd(), 0);
        libc::close_range(1, u32::MAX, 0);
    }
    // Closing the old descriptor again would close another one.
    std::mem::forget(std::mem::replace(&mut socket, stdin_socket()));
    let mut inode = [0; 8];
    while socket.read_exact(&mut inode).is_ok() {
        let holder = processes::search(u64::from_le_bytes(inode), &[server, std::process::id().cast_signed()]);
        if socket.write_all(&holder.unwrap_or(0).to_le_bytes()).is_err() {
            return;
        }
    }
}

fn stdin_socket() -> UnixStream {
    use std::os::fd::FromRawFd;
    // SAFETY: descriptor 0 is the socket, and nothing else owns it.
    unsafe { UnixStream::from_raw_fd(0) }
}
