//! The guard, which runs outside every restriction of the session.
//!
//! It has the keeper and its supervisor created, with namespaces and a control group where the profile asks for them. When
//! the server finds a new protected name or secret, the guard mounts over it inside the session, which nobody inside can
//! do. When the server or the keeper is gone, the guard kills everything it has adopted. It reads only what the server
//! sends it, so a command has no way to talk to it.

use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

use rustix::event::PollFlags;
use rustix::fs::{FlockOperation, Mode, OFlags};

use super::home_mount::{self, HomeMount};
use super::in_child::in_child;
use super::processes::{self, Forked};
use super::protocol::{DONE, Failed, GuardRequest};
use super::supervisor::{self, Inherited};
use super::watched_child::WatchedChild;
use super::{descendants, descriptors, keeper, packets, signals, witness};
use crate::base::packed::Reader;
use crate::sandbox::cgroup::Cgroup;
use crate::sandbox::home::USE;
use crate::sandbox::namespaces::{self, NamespaceHandles};
use crate::sandbox::{self, Doing, Failure, Level, Profile, secrets};

/// The hidden subcommand that makes our binary a guard. If the server has raised its limit of open files, the limit that
/// commands get follows as an argument.
pub const SUBCOMMAND: &str = "__guard";

/// The first descriptor that is not one of the standard streams.
const FIRST_OWN: i32 = 3;

/// Entry point of [`SUBCOMMAND`]. Descriptor 0 is the keeper's socket to the server, descriptor 1 the guard's own.
pub fn main() -> io::Result<()> {
    processes::set_name(c"testudo-guard");
    // Leave the server's process group: a client that kills the whole group must not kill the guard with it.
    let _ = rustix::process::setsid();
    lower_descriptor_limit();
    let (keeper_socket, own_socket) = match take_sockets() {
        Ok(sockets) => sockets,
        Err(failure) => {
            packets::send(rustix::stdio::stdin(), &Failed::from(failure).encode());
            return Ok(());
        }
    };
    processes::become_sub_reaper();
    let created =
        receive_profile(&own_socket).doing(|| "receive the session's profile".to_owned()).and_then(|received| {
            if received.profile.level != Level::Full {
                witness::stand_by(&[&keeper_socket, &own_socket]);
            }
            create_keeper(received, &keeper_socket, &own_socket)
        });
    let mut keeper = match created {
        Ok(Some(keeper)) => keeper,
        // The supervisor has told the server why.
        Ok(None) => {
            descendants::end_all();
            return Ok(());
        }
        Err(failure) => {
            packets::send(&keeper_socket, &Failed::from(failure).encode());
            descendants::end_all();
            return Ok(());
        }
    };
    let signals = signals::signal_descriptor(&[libc::SIGCHLD, libc::SIGTERM, libc::SIGINT, libc::SIGHUP])?;
    loop {
        let sources = [
            (signals.as_fd(), PollFlags::IN),
            (keeper_socket.as_fd(), PollFlags::empty()),
            (own_socket.as_fd(), PollFlags::IN),
        ];
        let ready = descriptors::wait_for(&sources, None);
        while signals::next_signal(&signals).is_some() {}
        let hung_up = |events: PollFlags| events.intersects(PollFlags::HUP | PollFlags::ERR);
        let keeper_ended = keeper.child.is_over();
        if keeper_ended || hung_up(ready[1]) || hung_up(ready[2]) {
            descendants::end_all();
            keeper.cgroup.iter().for_each(Cgroup::remove);
            return Ok(());
        }
        if ready[2].contains(PollFlags::IN) {
            change_mounts(&own_socket, &keeper);
        }
    }
}

/// The keeper, as the guard knows it.
struct Keeper {
    /// The child of ours that ends with the keeper: its supervisor, or the keeper itself.
    child: WatchedChild,
    /// `None` at the levels without namespaces.
    namespaces: Option<NamespaceHandles>,
    /// `None` where we may not create a control group.
    cgroup: Option<Cgroup>,
    /// Those of the session's own home, which other sessions may share.
    home: Option<NamespaceHandles>,
    profile: Profile,
    _layer_lock: Option<OwnedFd>,
    _draft_locks: Vec<OwnedFd>,
    /// When this closes, the supervisor knows that we have died.
    _tie: OwnedFd,
}

/// Has the keeper forked, by a supervisor if there is a sandbox. The keeper then waits until the guard has written its id
/// maps, put it into a control group and built its file system. `None` if the supervisor could not fork it.
fn create_keeper(received: Received, keeper_socket: &OwnedFd, own_socket: &OwnedFd) -> Result<Option<Keeper>, Failure> {
    let Received { mut profile, extra } = received;
    let mut extra = extra.into_iter();
    // Held while this session lives: nobody else may mount the layer meanwhile.
    let layer_lock = extra.next();
    let draft_locks = hold_drafts(&profile)?;
    let given = extra.next().zip(extra.next()).map(|(users, mounts)| NamespaceHandles::received(users, mounts));
    let home = obtain_home(&mut profile, given, own_socket);
    let pipe = || rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).doing(|| "create a pipe".to_owned());
    let (released, release) = pipe()?;
    let (announced, announce) = pipe()?;
    let child = match processes::fork().doing(|| "fork".to_owned())? {
        Forked::Child => {
            descriptors::close(own_socket);
            drop((release, announced));
            if profile.level == Level::None {
                drop(announce);
                keeper::main(keeper_socket, &profile, released, None);
            }
            supervisor::main(Inherited { profile: &profile, keeper_socket, released, guard: announce })
        }
        Forked::Parent { child } => child,
    };
    drop((released, announce));
    let mut pid = [0; 4];
    let keeper = match rustix::io::read(&announced, &mut pid) {
        _ if profile.level == Level::None => child,
        Ok(4) => i32::from_le_bytes(pid),
        _ => return Ok(None),
    };
    let limited = profile.level != Level::None;
    let cgroup = limited.then(|| Cgroup::make(&profile.limits)).flatten();
    // A group that the keeper cannot join is useless. The other limits hold without it.
    let cgroup = cgroup.filter(|cgroup| cgroup.add(keeper).inspect_err(|_| cgroup.remove()).is_ok());
    let mut namespaces = None;
    if profile.level == Level::Full {
        namespaces::map_ids(keeper)?;
        namespaces = Some(NamespaceHandles::open(keeper)?);
        build_file_system(keeper, &profile, home.clones)?;
    }
    rustix::io::write(&release, keeper::GO).doing(|| "release the keeper".to_owned())?;
    Ok(Some(Keeper {
        child: WatchedChild::new(child),
        namespaces,
        cgroup,
        home: home.namespaces,
        profile,
        _layer_lock: layer_lock,
        _draft_locks: draft_locks,
        _tie: announced,
    }))
}

/// If the server dies, its processes write to the draft until we have killed them. No other server may mount it before that.
fn hold_drafts(profile: &Profile) -> Result<Vec<OwnedFd>, Failure> {
    let hold = |layer: &PathBuf| {
        let lock = rustix::fs::open(layer.join(USE), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        // The server has locked it too, so this does not wait.
        rustix::fs::flock(&lock, FlockOperation::LockShared)?;
        Ok::<_, rustix::io::Errno>(lock)
    };
    profile.drafts.iter().map(hold).collect::<Result<_, _>>().doing(|| "lock the draft".to_owned())
}

/// Builds the session's file system in the keeper's namespaces. The keeper cannot: it is in the supervisor's domain of
/// Landlock, where nobody can mount. The second child is in the pid namespace of which it mounts `/proc`.
fn build_file_system(keeper: i32, profile: &Profile, home: Vec<OwnedFd>) -> Result<(), Failure> {
    in_child(|| {
        namespaces::follow(keeper)?;
        in_child(|| sandbox::build_file_system(profile, home))
    })
}

/// Gets the session its own home, and tells the server what became of it.
fn obtain_home(profile: &mut Profile, given: Option<NamespaceHandles>, own_socket: &OwnedFd) -> HomeMount {
    if profile.level != Level::Full {
        return HomeMount::default();
    }
    let (mount, report) = home_mount::obtain(profile, given);
    if let Some(report) = report {
        let handles = if report.is_new { home_mount::handles(&mount) } else { Vec::new() };
        packets::send_all(own_socket, &report.encode(), &handles);
    }
    mount
}

/// Changes mounts of the running session, and answers the server. A forked child does it: a process that has entered the
/// session's namespaces cannot come back.
fn change_mounts(own_socket: &OwnedFd, keeper: &Keeper) {
    let Ok((request, content, _)) = receive_content(own_socket) else { return };
    if matches!(processes::fork(), Ok(Forked::Child)) {
        match carry_out(request, &content, keeper) {
            Ok(()) => packets::send(own_socket, DONE),
            Err(failure) => packets::send(own_socket, &Failed::from(failure).encode()),
        }
        processes::exit(0);
    }
}

fn carry_out(request: GuardRequest, content: &[u8], keeper: &Keeper) -> Result<(), Failure> {
    let malformed = || "read the request".to_owned();
    // Without namespaces there are no mounts to change. The server knows that.
    let Some(namespaces) = &keeper.namespaces else { return Ok(()) };
    match request {
        GuardRequest::Protect => {
            let paths = Reader(content).paths().map_err(io::Error::other).doing(malformed)?;
            namespaces.enter()?;
            sandbox::read_only(&paths)
        }
        GuardRequest::Mask => {
            let masks = secrets::decode(&mut Reader(content)).map_err(io::Error::other).doing(malformed)?;
            let covers = sandbox::prepare_covers(&keeper.profile, &masks);
            if let (Some(home), Some(about)) = (&keeper.home, &keeper.profile.home) {
                in_child(|| home_mount::refresh(home, about, &masks))?;
            }
            namespaces.enter()?;
            sandbox::put_up(covers)
        }
        GuardRequest::CloseHome => keeper.home.as_ref().map_or(Ok(()), home_mount::close),
        GuardRequest::Profile => {
            Err(io::Error::from(io::ErrorKind::InvalidInput)).doing(|| "change the session's profile".to_owned())
        }
    }
}

/// The first request.
struct Received {
    profile: Profile,
    /// The descriptors that came with it.
    extra: Vec<OwnedFd>,
}

fn receive_profile(own_socket: &OwnedFd) -> io::Result<Received> {
    match receive_content(own_socket)? {
        (GuardRequest::Profile, content, extra) => {
            Ok(Received { profile: Profile::decode(&content).map_err(io::Error::other)?, extra })
        }
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// Receives a request, and reads the memory file that comes with it. Other descriptors may follow.
fn receive_content(own_socket: &OwnedFd) -> io::Result<(GuardRequest, Vec<u8>, Vec<OwnedFd>)> {
    let mut message = [0; 16];
    let (count, mut descriptors) = packets::receive(own_socket, &mut message)?;
    let request = GuardRequest::decode(&message[..count]).map_err(io::Error::other)?;
    if descriptors.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let mut bytes = Vec::new();
    std::fs::File::from(descriptors.remove(0)).read_to_end(&mut bytes)?;
    Ok((request, bytes, descriptors))
}

/// Sets the limit of open files back to what it was before the server raised its own.
fn lower_descriptor_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    if let Some(limit) = std::env::args().nth(2).and_then(|word| word.parse().ok()) {
        // Every process may lower its limits, so this does not fail.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(limit), ..getrlimit(Resource::Nofile) });
    }
}

/// Closes whatever the server's launcher has left open, and moves the sockets away from descriptors 0 and 1. Descriptor 2,
/// the server's log, stays. Closing comes first: the sockets then cannot land behind a descriptor that has to go.
fn take_sockets() -> Result<(OwnedFd, OwnedFd), Failure> {
    descriptors::close_from(FIRST_OWN);
    let moved = |standard| rustix::io::fcntl_dupfd_cloexec(standard, FIRST_OWN).doing(|| "move a socket".to_owned());
    let sockets = (moved(rustix::stdio::stdin())?, moved(rustix::stdio::stdout())?);
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty());
    let null = null.doing(|| "open /dev/null".to_owned())?;
    rustix::stdio::dup2_stdin(&null).doing(|| "replace stdin".to_owned())?;
    rustix::stdio::dup2_stdout(&null).doing(|| "replace stdout".to_owned())?;
    Ok(sockets)
}
