//! The supervisor, which does for commands the system calls that a filter cannot judge: see [`sandbox::supervise`].
//!
//! It is the keeper's parent, because some kernels let a process look only into its descendants. It is outside the
//! session's namespaces and filters, so no command can see it or signal it. When it dies, the keeper gets a signal and ends
//! the session; when the keeper dies, it exits.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::PollFlags;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use super::processes::{self, Forked};
use super::protocol::{Failed, KeeperNote};
use super::watched_child::WatchedChild;
use super::{descriptors, keeper, packets, signals};
use crate::sandbox::namespaces;
use crate::sandbox::supervise::{Listener, Session, Supervisor, can_inspect};
use crate::sandbox::{self, Doing, Failure, Level, Profile};

/// From the supervisor to the keeper, before anything else: whether it can do its work on this machine.
const CAN: &[u8] = b"can";
const CANNOT: &[u8] = b"cannot";
/// From the keeper to the supervisor, with the descriptor from which it reads the calls.
const LISTENER: &[u8] = b"listener";

/// What the supervisor has from the guard.
pub struct Inherited<'a> {
    pub profile: &'a Profile,
    /// The keeper's socket to the server. The supervisor sends notes over it.
    pub keeper_socket: &'a OwnedFd,
    /// The keeper waits for [`keeper::GO`] here.
    pub released: OwnedFd,
    /// To tell the guard the keeper's pid. The guard keeps the other end open as long as it lives.
    pub guard: OwnedFd,
}

/// Forks the keeper and serves it. Never returns.
pub fn main(inherited: Inherited<'_>) -> ! {
    processes::set_name(c"testudo-superv");
    let keeper_socket = inherited.keeper_socket;
    if let Err(failure) = run(inherited) {
        packets::send(keeper_socket, &Failed::from(failure).encode());
        processes::exit(1);
    }
    processes::exit(0)
}

fn run(inherited: Inherited<'_>) -> Result<(), Failure> {
    let Inherited { profile, keeper_socket, released, guard } = inherited;
    sandbox::keep_abstract_sockets_inside()?;
    let pair = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None);
    let (ours, keepers) = pair.doing(|| "create a socket pair".to_owned())?;
    let keeper = match fork_keeper(profile)? {
        Forked::Child => {
            drop((ours, guard));
            keeper::main(keeper_socket, profile, released, Some(KeeperEnd(keepers)))
        }
        Forked::Parent { child } => child,
    };
    drop(released);
    let can = can_inspect(keeper, keepers.as_fd());
    drop(keepers);
    let session = Session::new(profile, keeper).doing(|| "open the session's file system".to_owned())?;
    rustix::io::write(&guard, &keeper.to_le_bytes()).doing(|| "announce the keeper".to_owned())?;
    sandbox::restrict_supervisor(profile)?;
    packets::send(&ours, if can { CAN } else { CANNOT });
    // The keeper hangs up without a listener if it has failed, or if nothing has to be supervised.
    let listener = packets::receive(&ours, &mut [0; 16]).ok().and_then(|(_, mut descriptors)| descriptors.pop());
    drop(ours);
    let supervisor = listener.map(|listener| Supervisor::new(session, Listener::new(listener), keeper));
    serve(WatchedChild::new(keeper), supervisor, keeper_socket, &guard).doing(|| "receive signals".to_owned())
}

/// Forks the keeper, into new namespaces if the profile asks for them.
fn fork_keeper(profile: &Profile) -> Result<Forked, Failure> {
    match profile.level {
        Level::Full => Ok(match namespaces::fork_inside(profile)? {
            0 => Forked::Child,
            child => Forked::Parent { child },
        }),
        Level::Landlock | Level::None => processes::fork().doing(|| "fork the keeper".to_owned()),
    }
}

/// Answers calls until the keeper or the guard has ended. (The kernel could send a signal when the guard ends, but it would
/// forget to when we act as another user.)
fn serve(
    mut keeper: WatchedChild,
    mut supervisor: Option<Supervisor<'_>>,
    keeper_socket: &OwnedFd,
    guard: &OwnedFd,
) -> io::Result<()> {
    let signals = signals::signal_descriptor(&[libc::SIGCHLD, libc::SIGTERM, libc::SIGINT, libc::SIGHUP])?;
    loop {
        while signals::next_signal(&signals).is_some() {}
        if keeper.is_over() {
            return Ok(());
        }
        let mut sources = vec![(signals.as_fd(), PollFlags::IN), (guard.as_fd(), PollFlags::empty())];
        let mut patience = None;
        if let Some(supervisor) = &supervisor {
            sources.push((supervisor.calls(), PollFlags::IN));
            sources.extend(supervisor.connections().map(|connection| (connection, PollFlags::OUT)));
            patience = supervisor.patience().map(|patience| i64::try_from(patience.as_millis()).unwrap_or(1));
        }
        let ready = descriptors::wait_for(&sources, patience);
        if !ready[1].is_empty() {
            return Ok(());
        }
        let Some(supervising) = &mut supervisor else { continue };
        if patience.is_some() {
            supervising.look_after_connections();
        }
        if ready[2].contains(PollFlags::IN) {
            supervising.answer_call(|note| {
                packets::send(keeper_socket, &KeeperNote { reaper: note.reaper, text: note.text }.encode());
            });
        } else if ready[2].intersects(PollFlags::HUP | PollFlags::ERR) {
            // No process with the filter is left.
            supervisor = None;
        }
    }
}

/// The keeper's end of its socket to the supervisor.
pub struct KeeperEnd(OwnedFd);

impl KeeperEnd {
    /// Waits until the supervisor has found out whether it can do its work.
    pub fn can_supervise(&self) -> bool {
        let mut message = [0; 16];
        packets::receive(&self.0, &mut message).is_ok_and(|(count, _)| &message[..count] == CAN)
    }

    pub fn hand_over(self, listener: Option<OwnedFd>) {
        if let Some(listener) = listener {
            packets::send_with(&self.0, LISTENER, listener.as_fd());
        }
    }
}
