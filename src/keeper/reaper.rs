//! A reaper. It starts one command and is the sub-reaper of everything that the command leaves behind. It reports how the
//! command ended, sends signals to the command's whole tree of processes, and exits when that tree is gone. When the
//! server hangs up, the reaper kills the tree.

use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::event::PollFlags;

use super::family::{Family, OutputFlags};
use super::input_wait::InputFile;
use super::last_moment::{ABOUT_TO_EXIT, LastMoment};
use super::processes::{self, Waited};
use super::protocol::{Order, ReaperEvent, Start, StartDescriptors, Step};
use super::spawn::{self, Placement};
use super::{descendants, descriptors, packets, pty, signals};

/// Never returns. Exits with 0, so the keeper can tell a reaper that has finished from one that was killed.
pub fn main(descriptors: StartDescriptors) -> ! {
    processes::set_name(c"testudo-reaper");
    processes::become_sub_reaper();
    let Ok(signals) = signals::signal_descriptor(&[libc::SIGCHLD, libc::SIGTERM, ABOUT_TO_EXIT]) else {
        processes::exit(0)
    };
    let StartDescriptors { description, control, standard, extra } = descriptors;
    let started = start(description, &standard, &extra);
    // If the reaper kept the writing end of a pipe open, the pipe's reader would never see the end.
    drop((standard, extra));
    match started {
        Ok(Command { pid, input, terminal, waits }) => {
            let message = ReaperEvent::Started { pid, reaper: processes::own_pid() }.encode();
            let family = if waits { Family::open(pid).zip(OutputFlags::open(pid)) } else { None };
            match (&terminal, &family) {
                (Some(master), _) => packets::send_with(&control, &message, master.as_fd()),
                (None, Some((family, flags))) => packets::send_all(&control, &message, &family.files(flags)),
                (None, None) => packets::send(&control, &message),
            }
            // The server has its own copy. Ours would keep the terminal alive after its last program has exited.
            drop((terminal, family));
            let last_moment = LastMoment::open(pid).filter(LastMoment::will_show_status);
            watch(&control, &signals, pid, input, last_moment.as_ref());
        }
        Err((step, error)) => report_failure(&control, step, &error),
    }
    processes::exit(0)
}

/// A command that was started.
struct Command {
    pid: i32,
    input: Option<InputFile>,
    /// The master side of its terminal.
    terminal: Option<OwnedFd>,
    /// Whether it was started in advance.
    waits: bool,
}

/// For the keeper, which reports the failure itself when it could not fork a reaper.
pub fn report_failed_fork(control: &OwnedFd, error: &io::Error) {
    report_failure(control, Step::Execute, error);
}

fn start(description: OwnedFd, standard: &[OwnedFd; 3], extra: &[OwnedFd]) -> Result<Command, (Step, io::Error)> {
    let start = read(description.into()).map_err(|error| (Step::Description, error))?;
    rustix::process::chdir(&start.cwd).map_err(|error| (Step::WorkingDirectory, error.into()))?;
    let terminal = start.terminal.map(pty::open).transpose().map_err(|error| (Step::Terminal, error))?;
    let path = terminal.as_ref().map(|terminal| terminal.path.as_c_str());
    // With a terminal, `spawn` opens it as stdin, stdout and stderr.
    let standard_placed = standard.iter().zip(0..).filter(|_| terminal.is_none());
    let extra_placed = extra.iter().zip(start.extra.iter().copied());
    let placements: Vec<Placement<'_>> =
        standard_placed.chain(extra_placed).map(|(descriptor, at)| Placement { descriptor, at }).collect();
    let pid = spawn::spawn(&start, &placements, path).map_err(|error| (Step::Execute, error))?;
    let input = match path {
        Some(path) => path.to_str().ok().and_then(InputFile::at),
        None => InputFile::at(&format!("/proc/self/fd/{}", standard[0].as_raw_fd())),
    };
    // Do not keep the command's directory busy.
    let _ = rustix::process::chdir("/");
    let terminal = terminal.map(|terminal| terminal.master);
    Ok(Command { pid, input, terminal, waits: start.waits_on.is_some() })
}

fn read(mut description: std::fs::File) -> io::Result<Start> {
    let mut bytes = Vec::new();
    description.read_to_end(&mut bytes)?;
    Start::decode(&bytes).map_err(io::Error::other)
}

fn watch(
    control: &OwnedFd,
    signals: &OwnedFd,
    command: i32,
    input: Option<InputFile>,
    last_moment: Option<&LastMoment>,
) {
    let (mut ending, mut told, mut reported) = (false, false, false);
    loop {
        let sources = [(signals.as_fd(), PollFlags::IN), (control.as_fd(), PollFlags::IN)];
        // Once it has to end the tree, the reaper takes no more orders. It comes back every 2 ms for processes that were
        // forked while it killed.
        let ready =
            if ending { descriptors::wait_for(&sources[..1], Some(2)) } else { descriptors::wait_for(&sources, None) };
        let mut about_to_exit = false;
        while let Some((signal, sender)) = signals::next_signal(signals) {
            about_to_exit |= signal == ABOUT_TO_EXIT && sender == command.cast_unsigned();
        }
        if about_to_exit
            && !reported
            && let Some(status) = last_moment.and_then(LastMoment::wait)
        {
            reported = true;
            report(control, &ReaperEvent::Exited { status, running: Vec::new(), alone: true, closed: false });
        }
        loop {
            match processes::wait_any() {
                Waited::Ended { pid, status } if pid == command && !reported => {
                    let (running, alone) = living_after_exit();
                    told = alone;
                    report(control, &ReaperEvent::Exited { status, running, alone, closed: true });
                }
                Waited::Ended { .. } | Waited::Stopped { .. } => {}
                Waited::NoneYet => break,
                Waited::NoChildren => {
                    if !told {
                        report(control, &ReaperEvent::Gone);
                    }
                    return let_the_server_run_first(control);
                }
            }
        }
        ending = ending || ready.get(1).is_some_and(|events| !events.is_empty() && obey(control, input) == Order::End);
        if ending {
            descendants::kill_all();
        }
    }
}

/// Our last message wakes up the server, perhaps on our CPU. If we exited now, the kernel would first free our memory, and
/// the server would have to wait for that. So we let the server run until it hangs up, or for a moment.
fn let_the_server_run_first(control: &OwnedFd) {
    const MOMENT_MILLIS: i64 = 2;
    descriptors::wait_for(&[(control.as_fd(), PollFlags::IN)], Some(MOMENT_MILLIS));
}

/// The descendants that outlive the command, and whether there is certainly none. Most commands leave none, and then we
/// need not read `/proc`. A process that forks all the time may be missed there.
fn living_after_exit() -> (Vec<i32>, bool) {
    match processes::wait_any() {
        Waited::NoChildren => (Vec::new(), true),
        Waited::NoneYet | Waited::Ended { .. } | Waited::Stopped { .. } => {
            (descendants::living().into_iter().map(|member| member.pid).collect(), false)
        }
    }
}

/// Carries out the next order. A server that has hung up counts as the order to end the tree.
fn obey(control: &OwnedFd, input: Option<InputFile>) -> Order {
    let mut message = [0; 16];
    let order = match packets::receive(control, &mut message) {
        Ok((count, _)) if count > 0 => Order::decode(&message[..count]).unwrap_or(Order::End),
        _ => Order::End,
    };
    match order {
        Order::Signal(signal) => {
            descendants::signal_all(signal);
            // A stopped process does not act on a signal until it is continued.
            descendants::signal_all(libc::SIGCONT);
        }
        Order::AskInputAwaited => {
            #[expect(clippy::cast_possible_truncation, reason = "only whether it changes matters")]
            let sleeps = input.and_then(InputFile::awaited).map(|sleeps| sleeps as u32);
            report(control, &ReaperEvent::InputAwaited { sleeps });
        }
        Order::End => {}
    }
    order
}

fn report(control: &OwnedFd, event: &ReaperEvent) {
    packets::send(control, &event.encode());
}

fn report_failure(control: &OwnedFd, step: Step, error: &io::Error) {
    report(control, &ReaperEvent::Failed { step, errno: error.raw_os_error().unwrap_or(libc::EIO) });
}
