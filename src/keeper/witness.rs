//! The witness: the parent of a guard at the levels without a pid namespace, where nothing but our own processes ends a
//! session. It does nothing until the guard is gone, and then kills everything that is left.
//!
//! `pkill -9 testudo` kills the server, guard, keeper and reapers before any of them can act. The witness has another name
//! on purpose, so it is still there to clean up.

use std::os::fd::{AsFd, OwnedFd};

use rustix::event::PollFlags;

use super::processes::{self, Forked, Waited};
use super::{descendants, descriptors, signals};

/// Forks the guard off. The calling process becomes the witness and never returns from here. If the fork fails, the caller
/// goes on as a guard without a witness.
pub fn stand_by(guards: &[&OwnedFd]) {
    let Ok(Forked::Parent { child: guard }) = processes::fork() else {
        // A fork does not inherit this.
        return processes::become_sub_reaper();
    };
    processes::set_name(c"session-witness");
    // The server notices the end of the guard by its sockets.
    guards.iter().for_each(|socket| descriptors::close(socket));
    let Ok(signals) = signals::signal_descriptor(&[libc::SIGCHLD, libc::SIGTERM, libc::SIGINT, libc::SIGHUP]) else {
        processes::exit(1)
    };
    while lives(guard) {
        descriptors::wait_for(&[(signals.as_fd(), PollFlags::IN)], None);
        while signals::next_signal(&signals).is_some() {}
    }
    descendants::end_all();
    processes::exit(0)
}

fn lives(guard: i32) -> bool {
    loop {
        match processes::wait_any() {
            Waited::Ended { pid, .. } if pid == guard => return false,
            Waited::Ended { .. } => {}
            Waited::Stopped { pid } => processes::kill(pid, libc::SIGCONT),
            Waited::NoneYet => return true,
            Waited::NoChildren => return false,
        }
    }
}
