//! The guard: outside every restriction, it makes the keeper, watches it and the server's socket, and when either goes
//! it ends everything it has adopted. It does nothing else, so there is nothing in it that a command could reach.

use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::PollFlags;

use super::protocol::{DONE, FAILED, HIDE};
use super::sys::{self, Forked, Waited};
use super::{descendants, keep};
use crate::base::packed::Reader;
use crate::sandbox::cgroup::Cgroup;
use crate::sandbox::namespaces::{self, Door};
use crate::sandbox::{self, Doing, Failure, Level, Profile};

/// Entry point of the hidden subcommand; descriptor 0 is the session's socket, descriptor 1 the guard's own, over which
/// the profile comes.
pub fn main() -> io::Result<()> {
    sys::set_name(c"testudo-guard");
    // Away from the server's process group: a client that kills the whole group must not kill the guard with it.
    let _ = rustix::process::setsid();
    lower_descriptor_limit();
    let (socket, orders) = take_sockets()?;
    sys::become_sub_reaper();
    let ward = match make_keeper(&socket, &orders) {
        Ok(made) => made,
        Err(failure) => {
            sys::send_message(&socket, &[FAILED, failure.to_string().as_bytes()].concat());
            descendants::end_all();
            return Ok(());
        }
    };
    let signals = sys::signal_descriptor(&[libc::SIGCHLD, libc::SIGTERM, libc::SIGINT, libc::SIGHUP])?;
    loop {
        let sources =
            [(signals.as_fd(), PollFlags::IN), (socket.as_fd(), PollFlags::empty()), (orders.as_fd(), PollFlags::IN)];
        let ready = sys::wait_for(&sources, None);
        while sys::next_signal(&signals).is_some() {}
        let mut over = ready[1].intersects(PollFlags::HUP | PollFlags::ERR);
        loop {
            match sys::wait_any() {
                Waited::Ended { pid, .. } => over |= pid == ward.keeper,
                Waited::NoneYet => break,
                Waited::NoChildren => {
                    over = true;
                    break;
                }
            }
        }
        over |= ready[2].intersects(PollFlags::HUP | PollFlags::ERR);
        if over {
            descendants::end_all();
            ward.cgroup.iter().for_each(Cgroup::remove);
            return Ok(());
        }
        if ready[2].contains(PollFlags::IN) {
            obey(&orders, ward.door.as_ref());
        }
    }
}

/// Whom it guards, and by what means.
struct Ward {
    keeper: i32,
    /// Into its namespaces, where it has any.
    door: Option<Door>,
    /// Where the kernel counts it, if there is such a place.
    cgroup: Option<Cgroup>,
}

/// Forks the keeper, in namespaces of its own where the profile asks for them, and lets it go on once its users are
/// known to the kernel.
fn make_keeper(socket: &OwnedFd, orders: &OwnedFd) -> Result<Ward, Failure> {
    let profile = receive_profile(orders).doing(|| "receive the session's profile".to_owned())?;
    let pipe = || rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC);
    let (released, release) = pipe().doing(|| "make a pipe".to_owned())?;
    let forked = match profile.level {
        Level::Full => match namespaces::fork_inside(&profile)? {
            0 => Forked::Child,
            child => Forked::Parent { child },
        },
        Level::Landlock | Level::None => sys::fork().doing(|| "fork the keeper".to_owned())?,
    };
    match forked {
        Forked::Child => {
            sys::close(orders);
            drop(release);
            keep::main(socket, &profile, released)
        }
        Forked::Parent { child } => {
            let mut door = None;
            let counted = profile.level != Level::None;
            let cgroup = counted.then(|| Cgroup::make(&profile.limits)).flatten();
            // A group that does not take it counts nothing; the other limits hold without it.
            let cgroup = cgroup.filter(|cgroup| cgroup.add(child).inspect_err(|_| cgroup.remove()).is_ok());
            if profile.level == Level::Full {
                namespaces::map_ids(child)?;
                door = Some(Door::of(child)?);
            }
            rustix::io::write(&release, keep::GO).doing(|| "release the keeper".to_owned())?;
            Ok(Ward { keeper: child, door, cgroup })
        }
    }
}

/// Protects or hides paths for the running session, from a process of its own that enters its namespaces, and answers.
fn obey(orders: &OwnedFd, door: Option<&Door>) {
    let Ok((order, content)) = receive_content(orders) else { return };
    if matches!(sys::fork(), Ok(Forked::Child)) {
        let work = || -> Result<(), Failure> {
            let paths = Reader(&content).paths().map_err(io::Error::other).doing(|| "read the paths".to_owned())?;
            // Without namespaces there are no mounts to change, and the server knows.
            let Some(door) = door else { return Ok(()) };
            door.enter()?;
            if order == HIDE { sandbox::hide(&paths) } else { sandbox::read_only(&paths) }
        };
        match work() {
            Ok(()) => sys::send_message(orders, DONE),
            Err(failure) => sys::send_message(orders, &[FAILED, failure.to_string().as_bytes()].concat()),
        }
        sys::exit(0);
    }
}

fn receive_profile(orders: &OwnedFd) -> io::Result<Profile> {
    let (_, content) = receive_content(orders)?;
    Profile::decode(&content).map_err(io::Error::other)
}

/// A message, and what is in the memory file that comes with it.
fn receive_content(orders: &OwnedFd) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let mut message = [0; 16];
    let (count, mut descriptors) = sys::receive(orders, &mut message)?;
    let mut bytes = Vec::new();
    std::fs::File::from(descriptors.pop().ok_or(io::ErrorKind::UnexpectedEof)?).read_to_end(&mut bytes)?;
    Ok((message[..count].to_vec(), bytes))
}

/// Back to what commands had before the server raised its own limit.
fn lower_descriptor_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    if let Some(limit) = std::env::args().nth(2).and_then(|word| word.parse().ok()) {
        // A limit can always be lowered.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(limit), ..getrlimit(Resource::Nofile) });
    }
}

/// Moves the sockets away from descriptors 0 and 1 and leaves nothing else open: descriptor 2 is the server's log.
fn take_sockets() -> io::Result<(OwnedFd, OwnedFd)> {
    let socket = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    let orders = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 4)?;
    let null = rustix::fs::open("/dev/null", rustix::fs::OFlags::RDWR, rustix::fs::Mode::empty())?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    drop(null);
    sys::close_from(5);
    Ok((socket, orders))
}
