//! A reaper: parent of one command and, as its sub-reaper, of everything the command leaves behind. It starts the
//! command, reports how it ended, passes signals on to the whole tree, and goes when the tree or the server has gone.

use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::event::PollFlags;

use super::protocol::{CONTROL, DESCRIPTION, FIRST_EXTRA, Order, Report, STDERR, STDIN, STDOUT, Start, Step};
use super::spawn::{self, Placement};
use super::sys::{self, Waited};
use super::waiting::Input;
use super::{descendants, terminal};

/// Never returns; the exit code is 0 unless the reaper was killed.
pub fn main(mut descriptors: Vec<OwnedFd>) -> ! {
    sys::set_name(c"testudo-reaper");
    sys::become_sub_reaper();
    let Ok(signals) = sys::signal_descriptor(&[libc::SIGCHLD, libc::SIGTERM]) else { sys::exit(0) };
    let control = descriptors.remove(CONTROL);
    match start(descriptors) {
        Ok(command) => {
            let started = Report::Started { pid: command.pid }.encode();
            match &command.terminal {
                Some(master) => sys::send_with(&control, &started, master.as_fd()),
                None => sys::send_message(&control, &started),
            }
            let Command { pid, input, terminal } = command;
            // Ours would keep the terminal alive after its last program has gone.
            drop(terminal);
            watch(&control, &signals, pid, input);
        }
        Err((step, error)) => report_failure(&control, step, &error),
    }
    sys::exit(0)
}

/// A command that was started.
struct Command {
    pid: i32,
    input: Option<Input>,
    terminal: Option<OwnedFd>,
}

/// For the keeper, when there is no reaper to speak for itself.
pub fn report_failed_fork(control: &OwnedFd, error: &io::Error) {
    report_failure(control, Step::Execute, error);
}

/// Takes the descriptors without [`CONTROL`] and leaves none of them open here: a pipe that the reaper held would never
/// end for its reader.
fn start(mut descriptors: Vec<OwnedFd>) -> Result<Command, (Step, io::Error)> {
    let description = std::fs::File::from(descriptors.remove(DESCRIPTION));
    let start = read(description).map_err(|error| (Step::Description, error))?;
    rustix::process::chdir(&start.cwd).map_err(|error| (Step::WorkingDirectory, error.into()))?;
    let terminal = start.terminal.map(terminal::open).transpose().map_err(|error| (Step::Terminal, error))?;
    let standard = [libc::STDIN_FILENO, libc::STDOUT_FILENO, libc::STDERR_FILENO];
    let placed = descriptors.iter().zip(standard.into_iter().chain(start.extra.iter().copied()));
    let placements: Vec<Placement<'_>> = placed
        .map(|(descriptor, at)| Placement { descriptor, at })
        .filter(|placement| terminal.is_none() || !standard.contains(&placement.at))
        .collect();
    let path = terminal.as_ref().map(|terminal| terminal.path.as_c_str());
    let pid = spawn::spawn(&start, &placements, path).map_err(|error| (Step::Execute, error))?;
    let input = match path {
        Some(path) => path.to_str().ok().and_then(Input::of),
        None => Input::of(&format!("/proc/self/fd/{}", descriptors[0].as_raw_fd())),
    };
    let _ = rustix::process::chdir("/");
    Ok(Command { pid, input, terminal: terminal.map(|terminal| terminal.master) })
}

const _: () = assert!(STDIN == CONTROL + 1 && STDOUT == STDIN + 1 && STDERR == STDOUT + 1 && FIRST_EXTRA == STDERR + 1);

fn read(mut description: std::fs::File) -> io::Result<Start> {
    let mut bytes = Vec::new();
    description.read_to_end(&mut bytes)?;
    Start::decode(&bytes).map_err(io::Error::other)
}

fn watch(control: &OwnedFd, signals: &OwnedFd, command: i32, input: Option<Input>) {
    let mut ending = false;
    loop {
        let sources = [(signals.as_fd(), PollFlags::IN), (control.as_fd(), PollFlags::IN)];
        // While ending, nothing more is asked of us, and what forked meanwhile is met in the next round.
        let ready = if ending { sys::wait_for(&sources[..1], Some(2)) } else { sys::wait_for(&sources, None) };
        while sys::next_signal(signals).is_some() {}
        loop {
            match sys::wait_any() {
                Waited::Ended { pid, status } if pid == command => {
                    report(control, &Report::Exited { status, running: living_after_exit() });
                }
                Waited::Ended { .. } => {}
                Waited::NoneYet => break,
                Waited::NoChildren => return let_the_server_go_first(control),
            }
        }
        ending = ending || ready.get(1).is_some_and(|events| !events.is_empty() && obey(control, input) == Order::End);
        if ending {
            descendants::kill_all();
        }
    }
}

/// Whoever is woken by our last word may have been put on our processor, and our end is long work for it: the kernel takes
/// down an address space before it looks at anybody else. So we wait for the server to hang up, or for a moment.
fn let_the_server_go_first(control: &OwnedFd) {
    const MOMENT: i64 = 2;
    sys::wait_for(&[(control.as_fd(), PollFlags::IN)], Some(MOMENT));
}

/// Most commands leave nothing behind, and then there is nothing to look for in `/proc`.
fn living_after_exit() -> Vec<i32> {
    match sys::wait_any() {
        Waited::NoChildren => Vec::new(),
        Waited::NoneYet | Waited::Ended { .. } => descendants::living(),
    }
}

/// A server that has gone wants everything to go.
fn obey(control: &OwnedFd, input: Option<Input>) -> Order {
    let mut message = [0; 16];
    let order = match sys::receive(control, &mut message) {
        Ok((count, _)) if count > 0 => Order::decode(&message[..count]).unwrap_or(Order::End),
        _ => Order::End,
    };
    match order {
        Order::Signal(signal) => {
            signal_all(signal);
            // A stopped process would not notice until somebody let it go on.
            signal_all(libc::SIGCONT);
        }
        Order::AskWaiting => report(control, &Report::Waiting { waiting: input.is_some_and(Input::is_awaited) }),
        Order::End => {}
    }
    order
}

fn signal_all(signal: i32) {
    descendants::living().into_iter().for_each(|pid| sys::kill(pid, signal));
}

fn report(control: &OwnedFd, report: &Report) {
    sys::send_message(control, &report.encode());
}

fn report_failure(control: &OwnedFd, step: Step, error: &io::Error) {
    report(control, &Report::Failed { step, errno: error.raw_os_error().unwrap_or(libc::EIO) });
}
