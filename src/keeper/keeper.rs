//! The keeper. It forks a reaper for each command, kills what exceeds the session's limits, and kills the processes that
//! a dead reaper leaves behind.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::PollFlags;

use super::processes::{self, Forked, Waited};
use super::protocol::{
    ExitStatus, Failed, KeeperNote, KeeperRequest, LONGEST_REQUEST, READY, SessionUsage, StartDescriptors,
};
use super::session_limits::{self, Pace};
use super::supervisor::KeeperEnd;
use super::{descendants, descriptors, packets, reaper, signals};
use crate::sandbox::{self, Level, Profile};

/// The guard writes this when it has finished preparing the keeper from outside.
pub const GO: &[u8] = b"g";

/// Never returns. The keeper exits when the server hangs up, when the guard dies, or when its socket fails.
pub fn main(socket: &OwnedFd, profile: &Profile, released: OwnedFd, supervisor: Option<KeeperEnd>) -> ! {
    processes::set_name(c"testudo-keeper");
    let guard = rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get().cast_unsigned());
    // The keeper must not outlive its guard. It reads this signal as a message and checks the sender, because a command
    // can send SIGTERM to the keeper too.
    processes::on_parent_death(libc::SIGTERM);
    let mut go = [0; 1];
    if !matches!(rustix::io::read(&released, &mut go), Ok(1)) {
        processes::exit(1);
    }
    drop(released);
    // Start a process group of our own: the guard's group has no number inside our pid namespace.
    let _ = rustix::process::setsid();
    let can_supervise = supervisor.as_ref().is_some_and(KeeperEnd::can_supervise);
    match (sandbox::restrict(profile, can_supervise), supervisor) {
        (Ok(restricted), supervisor) => {
            if let Some(supervisor) = supervisor {
                supervisor.hand_over(restricted.calls);
            }
            let network: Vec<_> = restricted.network.iter().map(AsFd::as_fd).collect();
            packets::send_all(socket, READY, &network);
        }
        (Err(failure), _) => {
            packets::send(socket, &Failed::from(failure).encode());
            processes::exit(1);
        }
    }
    let outcome = run(socket, profile, guard);
    // Kill the reapers first. Otherwise a reaper would report our SIGKILL as the command's own exit status.
    descendants::children().into_iter().for_each(|reaper| processes::kill(reaper.pid, libc::SIGKILL));
    descendants::end_all();
    processes::exit(i32::from(outcome.is_err()))
}

fn run(socket: &OwnedFd, profile: &Profile, guard: u32) -> io::Result<()> {
    processes::become_sub_reaper();
    let signals = signals::signal_descriptor(&[libc::SIGCHLD, libc::SIGTERM])?;
    let mut reapers = Reapers::default();
    let (mut last_check, mut pace) = (Instant::now(), Pace::Close);
    loop {
        let next_check = reapers.need_limits(profile).then_some(pace as i64);
        if next_check.is_none() {
            reapers.tell(socket, SessionUsage::default());
        }
        let own = [(signals.as_fd(), PollFlags::IN), (socket.as_fd(), PollFlags::IN)];
        let sources: Vec<_> = own.into_iter().chain(reapers.waiting()).collect();
        let ready = descriptors::wait_for(&sources, next_check);
        if next_check.is_some() && last_check.elapsed() >= Duration::from_millis(pace as u64) {
            last_check = Instant::now();
            let usage;
            (pace, usage) = session_limits::enforce(profile, |reaper, text| tell(socket, reaper, text));
            reapers.tell(socket, usage);
        }
        while let Some((signal, sender)) = signals::next_signal(&signals) {
            if signal == libc::SIGTERM && sender == guard {
                return Ok(());
            }
        }
        reapers.stop_waiting(&ready[2..]);
        reapers.reap(socket);
        if !ready[1].is_empty() && !reapers.accept(socket, &signals, profile)? {
            return Ok(());
        }
    }
}

/// The reapers of the commands that run, and of the shell that waits for its command.
#[derive(Default)]
struct Reapers {
    all: Vec<Reaper>,
    /// A reaper was killed. Its orphans are our children now and have to be killed too.
    sweeping: bool,
    /// What the server knows of our usage.
    told: SessionUsage,
}

struct Reaper {
    pid: i32,
    /// A pipe that the command waits on before it does anything. The server hangs up once the command has work to do.
    waits_on: Option<OwnedFd>,
    /// How often it was stopped.
    stops: u32,
}

/// A command may stop its reaper, by accident or not. We continue it at once, but not for ever.
const MOST_STOPS: u32 = 10;

impl Reapers {
    /// What to poll for the commands that wait.
    fn waiting(&self) -> impl Iterator<Item = (BorrowedFd<'_>, PollFlags)> {
        let pipes = self.all.iter().filter_map(|reaper| reaper.waits_on.as_ref());
        pipes.map(|pipe| (pipe.as_fd(), PollFlags::empty()))
    }

    /// Takes the poll results of [`Reapers::waiting`]: a command whose pipe has hung up no longer waits.
    fn stop_waiting(&mut self, events: &[PollFlags]) {
        let waiting = self.all.iter_mut().filter(|reaper| reaper.waits_on.is_some());
        waiting.zip(events).filter(|(_, events)| !events.is_empty()).for_each(|(reaper, _)| reaper.waits_on = None);
    }

    /// Reads one request and carries it out. Returns `false` when the server has hung up.
    fn accept(&mut self, socket: &OwnedFd, signals: &OwnedFd, profile: &Profile) -> io::Result<bool> {
        let mut message = [0; LONGEST_REQUEST];
        let (count, descriptors) = packets::receive(socket, &mut message)?;
        if count == 0 {
            return Ok(false);
        }
        match KeeperRequest::decode(&message[..count]) {
            Ok(KeeperRequest::Start { waits_on }) => {
                if let Some(descriptors) = StartDescriptors::received(descriptors) {
                    self.fork_reaper(socket, signals, descriptors, waits_on);
                }
            }
            Ok(KeeperRequest::Probe) => probe(profile, descriptors),
            Ok(KeeperRequest::Sockets) => send_sockets(descriptors),
            Ok(KeeperRequest::Kill { reaper }) => {
                self.all
                    .iter()
                    .filter(|known| known.pid == reaper)
                    .for_each(|known| processes::kill(known.pid, libc::SIGKILL));
            }
            Ok(KeeperRequest::Shed { excess, reason }) => {
                session_limits::shed(profile, excess, &reason, |reaper, text| tell(socket, reaper, text));
                // The server waits for what is used afterwards, even if that is the same.
                self.told = SessionUsage::default();
            }
            // Closing the descriptors that came along tells the server that the request failed.
            Err(_) => {}
        }
        Ok(true)
    }

    fn fork_reaper(
        &mut self,
        socket: &OwnedFd,
        signals: &OwnedFd,
        mut descriptors: StartDescriptors,
        waits_on: Option<usize>,
    ) {
        match processes::fork() {
            Ok(Forked::Child) => {
                // The server notices the keeper's end when the socket closes, so only the keeper may hold it.
                descriptors::close(socket);
                descriptors::close(signals);
                self.all.iter().filter_map(|reaper| reaper.waits_on.as_ref()).for_each(descriptors::close);
                reaper::main(descriptors)
            }
            Ok(Forked::Parent { child }) => {
                let index = waits_on.filter(|index| *index < descriptors.extra.len());
                let waits_on = index.map(|index| descriptors.extra.swap_remove(index));
                self.all.push(Reaper { pid: child, waits_on, stops: 0 });
            }
            Err(error) => reaper::report_failed_fork(&descriptors.control, &error),
        }
    }

    fn tell(&mut self, socket: &OwnedFd, usage: SessionUsage) {
        if self.told.differs_notably(usage) {
            self.told = usage;
            packets::send(socket, &usage.encode());
        }
    }

    /// Whether the limits have to be checked: only in a sandbox, and only while a command works. A session that is idle
    /// uses no CPU time.
    fn need_limits(&self, profile: &Profile) -> bool {
        profile.level != Level::None && self.all.iter().any(|reaper| reaper.waits_on.is_none())
    }

    fn reap(&mut self, socket: &OwnedFd) {
        loop {
            match processes::wait_any() {
                Waited::Ended { pid, status } => {
                    self.all.retain(|reaper| reaper.pid != pid);
                    self.sweeping |= status != ExitStatus::Code(0);
                }
                Waited::Stopped { pid } => self.go_on(pid, socket),
                Waited::NoneYet | Waited::NoChildren => break,
            }
        }
        if self.sweeping {
            // When an orphan dies, its own children become ours, and SIGCHLD brings us back here for them.
            let known = |pid: i32| self.all.iter().any(|reaper| reaper.pid == pid);
            let orphans = descendants::children().into_iter().map(|child| child.pid).filter(|pid| !known(*pid));
            self.sweeping = orphans.inspect(|pid| processes::kill(*pid, libc::SIGKILL)).count() > 0;
        }
    }

    /// Continues a reaper that was stopped. If a command stops its reaper again and again, both are killed.
    fn go_on(&mut self, pid: i32, socket: &OwnedFd) {
        let Some(reaper) = self.all.iter_mut().find(|reaper| reaper.pid == pid) else { return };
        reaper.stops += 1;
        if reaper.stops <= MOST_STOPS {
            return processes::kill(pid, libc::SIGCONT);
        }
        tell(socket, pid, "a command was killed: it stopped the process that watches it again and again");
        processes::kill(pid, libc::SIGKILL);
    }
}

/// Tells the server why something of this reaper's command is killed.
fn tell(socket: &OwnedFd, reaper: i32, text: &str) {
    packets::send(socket, &KeeperNote { reaper, text: text.to_owned() }.encode());
}

/// Sends unconnected sockets of the session's network to the descriptor that came with the request.
fn send_sockets(mut descriptors: Vec<OwnedFd>) {
    const SOCKETS: usize = 4;
    let Some(answer) = descriptors.pop() else { return };
    let sockets: Vec<OwnedFd> = (0..SOCKETS).filter_map(|_| sandbox::own_network::make_socket().ok()).collect();
    let sockets: Vec<_> = sockets.iter().map(AsFd::as_fd).collect();
    packets::send_all(&answer, READY, &sockets);
}

/// Tests the sandbox in a forked child, because a test may do harm to the process that runs it.
fn probe(profile: &Profile, mut descriptors: Vec<OwnedFd>) {
    let Some(answer) = descriptors.pop() else { return };
    if matches!(processes::fork(), Ok(Forked::Child)) {
        let findings = sandbox::support::probe(profile);
        packets::send(&answer, &sandbox::support::encode(&findings));
        processes::exit(0);
    }
}
