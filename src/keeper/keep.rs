//! The keeper: starts one reaper for every request, and ends what a reaper that was killed left behind.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::PollFlags;

use super::protocol::{CONTROL, ExitStatus, FIRST_EXTRA, READY};
use super::sys::{self, Forked, Waited};
use super::{descendants, reaper};

/// Never returns: the keeper ends with its socket, its guard, or its session.
pub fn main(socket: &OwnedFd) -> ! {
    sys::set_name(c"testudo-keeper");
    let guard = rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get().cast_unsigned());
    let outcome = run(socket, guard);
    descendants::end_all();
    sys::exit(i32::from(outcome.is_err()))
}

fn run(socket: &OwnedFd, guard: u32) -> io::Result<()> {
    // A killed guard must not leave us: the signal is caught, and only believed when the guard's death sent it.
    sys::on_parent_death(libc::SIGTERM);
    sys::become_sub_reaper();
    let signals = sys::signal_descriptor(&[libc::SIGCHLD, libc::SIGTERM])?;
    let mut calls = Calls::default();
    sys::send_message(socket, READY);
    loop {
        let ready = sys::wait_for(&[(signals.as_fd(), PollFlags::IN), (socket.as_fd(), PollFlags::IN)], None);
        while let Some((signal, sender)) = sys::next_signal(&signals) {
            if signal == libc::SIGTERM && sender == guard {
                return Ok(());
            }
        }
        calls.reap();
        if !ready[1].is_empty() && !calls.accept(socket, &signals)? {
            return Ok(());
        }
    }
}

/// The calls under way, known by their reapers.
#[derive(Default)]
struct Calls {
    reapers: Vec<i32>,
    /// A reaper was killed, so what it left behind is ours now and has to go.
    sweeping: bool,
}

impl Calls {
    /// Reads one request and forks its reaper; `false` when the server has gone.
    fn accept(&mut self, socket: &OwnedFd, signals: &OwnedFd) -> io::Result<bool> {
        let mut message = [0; 16];
        let (count, descriptors) = sys::receive(socket, &mut message)?;
        if count == 0 {
            return Ok(false);
        }
        if descriptors.len() < FIRST_EXTRA {
            return Ok(true);
        }
        match sys::fork() {
            Ok(Forked::Child) => {
                // Only the keeper may hold the session's socket: its closing is how the server learns of our end.
                sys::close(socket);
                sys::close(signals);
                reaper::main(descriptors)
            }
            Ok(Forked::Parent { child }) => self.reapers.push(child),
            Err(error) => reaper::report_failed_fork(&descriptors[CONTROL], &error),
        }
        Ok(true)
    }

    fn reap(&mut self) {
        while let Waited::Ended { pid, status } = sys::wait_any() {
            self.reapers.retain(|reaper| *reaper != pid);
            self.sweeping |= status != ExitStatus::Code(0);
        }
        if self.sweeping {
            // Their own children come to us as they die, each with a signal that brings us back here.
            let orphans = descendants::children().into_iter().filter(|pid| !self.reapers.contains(pid));
            self.sweeping = orphans.inspect(|pid| sys::kill(*pid, libc::SIGKILL)).count() > 0;
        }
    }
}
