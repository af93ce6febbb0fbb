//! The guard: outside every restriction, it makes the keeper, watches it and the server's socket, and when either goes
//! it ends everything it has adopted. It does nothing else, so there is nothing in it that a command could reach.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::PollFlags;

use super::sys::{self, Forked, Waited};
use super::{descendants, keep};

/// Entry point of the hidden subcommand; descriptor 0 is the session's socket.
pub fn main() -> io::Result<()> {
    sys::set_name(c"testudo-guard");
    // Away from the server's process group: a client that kills the whole group must not kill the guard with it.
    let _ = rustix::process::setsid();
    let socket = take_socket()?;
    sys::become_sub_reaper();
    let keeper = match sys::fork()? {
        Forked::Child => keep::main(&socket),
        Forked::Parent { child } => child,
    };
    let signals = sys::signal_descriptor(&[libc::SIGCHLD, libc::SIGTERM, libc::SIGINT, libc::SIGHUP])?;
    loop {
        let ready = sys::wait_for(&[(signals.as_fd(), PollFlags::IN), (socket.as_fd(), PollFlags::empty())], None);
        while sys::next_signal(&signals).is_some() {}
        let mut over = ready[1].intersects(PollFlags::HUP | PollFlags::ERR);
        loop {
            match sys::wait_any() {
                Waited::Ended { pid, .. } => over |= pid == keeper,
                Waited::NoneYet => break,
                Waited::NoChildren => {
                    over = true;
                    break;
                }
            }
        }
        if over {
            descendants::end_all();
            return Ok(());
        }
    }
}

/// Moves the socket away from descriptor 0 and leaves nothing else open: descriptor 2 is the server's log.
fn take_socket() -> io::Result<OwnedFd> {
    let socket = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    let null = rustix::fs::open("/dev/null", rustix::fs::OFlags::RDWR, rustix::fs::Mode::empty())?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    drop(null);
    sys::close_from(4);
    Ok(socket)
}
