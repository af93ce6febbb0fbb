//! The keeper: starts one reaper for every request, and ends what a reaper that was killed left behind.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::PollFlags;

use super::protocol::{CONTROL, ExitStatus, FAILED, FIRST_EXTRA, NOTE, PROBE, READY, START_RESTING};
use super::sys::{self, Forked, Waited};
use super::usage::{self, Pace};
use super::{descendants, reaper};
use crate::sandbox::{self, Level, Profile};

/// What the guard sends when the keeper may go on.
pub const GO: &[u8] = b"g";

/// Never returns: the keeper ends with its socket, its guard, or its session.
pub fn main(socket: &OwnedFd, profile: &Profile, released: OwnedFd) -> ! {
    sys::set_name(c"testudo-keeper");
    let guard = rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get().cast_unsigned());
    // A killed guard must not leave us: the signal is caught, and only believed when the guard's death sent it.
    sys::on_parent_death(libc::SIGTERM);
    let mut go = [0; 1];
    if !matches!(rustix::io::read(&released, &mut go), Ok(1)) {
        sys::exit(1);
    }
    drop(released);
    // A group of our own: the guard's has no number inside our pid namespace.
    let _ = rustix::process::setsid();
    if let Err(failure) = sandbox::restrict(profile) {
        sys::send_message(socket, &[FAILED, failure.to_string().as_bytes()].concat());
        sys::exit(1);
    }
    let outcome = run(socket, profile, guard);
    // The reapers first, lest one reports the end that we make as its command's own.
    descendants::children().into_iter().for_each(|reaper| sys::kill(reaper, libc::SIGKILL));
    descendants::end_all();
    sys::exit(i32::from(outcome.is_err()))
}

fn run(socket: &OwnedFd, profile: &Profile, guard: u32) -> io::Result<()> {
    sys::become_sub_reaper();
    let signals = sys::signal_descriptor(&[libc::SIGCHLD, libc::SIGTERM])?;
    let mut calls = Calls::default();
    sys::send_message(socket, READY);
    let (mut looked, mut pace) = (Instant::now(), Pace::Close);
    loop {
        let next_look = calls.are_under_way(profile).then_some(pace as i64);
        let news = [(signals.as_fd(), PollFlags::IN), (socket.as_fd(), PollFlags::IN)];
        let sources: Vec<_> = news.into_iter().chain(calls.awakenings()).collect();
        let ready = sys::wait_for(&sources, next_look);
        if next_look.is_some() && looked.elapsed() >= Duration::from_millis(pace as u64) {
            looked = Instant::now();
            let tell = |note: &str| sys::send_message(socket, &[NOTE, note.as_bytes()].concat());
            pace = usage::enforce(&profile.limits, tell);
        }
        while let Some((signal, sender)) = sys::next_signal(&signals) {
            if signal == libc::SIGTERM && sender == guard {
                return Ok(());
            }
        }
        calls.wake(&ready[2..]);
        calls.reap();
        if !ready[1].is_empty() && !calls.accept(socket, &signals, profile)? {
            return Ok(());
        }
    }
}

/// The calls under way, known by their reapers.
#[derive(Default)]
struct Calls {
    reapers: Vec<Reaper>,
    /// A reaper was killed, so what it left behind is ours now and has to go.
    sweeping: bool,
}

struct Reaper {
    pid: i32,
    /// Hangs up when its command, which does nothing until then, is given something to do.
    resting: Option<OwnedFd>,
}

impl Calls {
    /// What to watch for commands that rest.
    fn awakenings(&self) -> impl Iterator<Item = (BorrowedFd<'_>, PollFlags)> {
        let resting = self.reapers.iter().filter_map(|reaper| reaper.resting.as_ref());
        resting.map(|descriptor| (descriptor.as_fd(), PollFlags::empty()))
    }

    /// Takes what came of [`Calls::awakenings`].
    fn wake(&mut self, events: &[PollFlags]) {
        let resting = self.reapers.iter_mut().filter(|reaper| reaper.resting.is_some());
        resting.zip(events).filter(|(_, events)| !events.is_empty()).for_each(|(reaper, _)| reaper.resting = None);
    }

    /// Reads one request and forks its reaper; `false` when the server has gone.
    fn accept(&mut self, socket: &OwnedFd, signals: &OwnedFd, profile: &Profile) -> io::Result<bool> {
        let mut message = [0; 16];
        let (count, mut descriptors) = sys::receive(socket, &mut message)?;
        if count == 0 {
            return Ok(false);
        }
        if &message[..count] == PROBE {
            probe(profile, descriptors);
            return Ok(true);
        }
        if descriptors.len() < FIRST_EXTRA {
            return Ok(true);
        }
        match sys::fork() {
            Ok(Forked::Child) => {
                // Only the keeper may hold the session's socket: its closing is how the server learns of our end.
                sys::close(socket);
                sys::close(signals);
                self.reapers.iter().filter_map(|reaper| reaper.resting.as_ref()).for_each(sys::close);
                reaper::main(descriptors)
            }
            Ok(Forked::Parent { child }) => {
                let resting = if &message[..count] == START_RESTING { descriptors.pop() } else { None };
                self.reapers.push(Reaper { pid: child, resting });
            }
            Err(error) => reaper::report_failed_fork(&descriptors[CONTROL], &error),
        }
        Ok(true)
    }

    /// Whether there is anything to count; without a sandbox nobody does. A session at rest costs nothing.
    fn are_under_way(&self, profile: &Profile) -> bool {
        profile.level != Level::None && self.reapers.iter().any(|reaper| reaper.resting.is_none())
    }

    fn reap(&mut self) {
        while let Waited::Ended { pid, status } = sys::wait_any() {
            self.reapers.retain(|reaper| reaper.pid != pid);
            self.sweeping |= status != ExitStatus::Code(0);
        }
        if self.sweeping {
            // Their own children come to us as they die, each with a signal that brings us back here.
            let known = |pid: &i32| self.reapers.iter().any(|reaper| reaper.pid == *pid);
            let orphans = descendants::children().into_iter().filter(|pid| !known(pid));
            self.sweeping = orphans.inspect(|pid| sys::kill(*pid, libc::SIGKILL)).count() > 0;
        }
    }
}

/// Tries the boundary in a process of its own, which may break on the way.
fn probe(profile: &Profile, mut descriptors: Vec<OwnedFd>) {
    let Some(answer) = descriptors.pop() else { return };
    if matches!(sys::fork(), Ok(Forked::Child)) {
        let findings = sandbox::support::probe(profile);
        sys::send_message(&answer, &sandbox::support::encode(&findings));
        sys::exit(0);
    }
}
