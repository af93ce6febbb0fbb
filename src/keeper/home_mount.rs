//! The guard's part in a session's own home: a child process enters or creates the namespace in which the overlay is
//! mounted, and sends clones of the mount back. The child is needed because a process that has entered a namespace cannot
//! come back.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use super::packets;
use super::processes::{self, Forked};
use super::protocol::{Failed, HomeReport};
use crate::sandbox::home::{Home, State, namespace};
use crate::sandbox::namespaces::{self, NamespaceHandles};
use crate::sandbox::secrets::Mask;
use crate::sandbox::{Doing, Failure, Profile};

/// The home of one keeper, as the guard knows it.
#[derive(Default)]
pub struct HomeMount {
    /// For the keeper to attach.
    pub clones: Vec<OwnedFd>,
    pub namespaces: Option<NamespaceHandles>,
}

/// Gets the overlay for a keeper: from the namespaces of an earlier one, if the server sent them, or a new one. Returns
/// what the server has to know. The profile says afterwards what became of the home.
pub fn obtain(profile: &mut Profile, given: Option<NamespaceHandles>) -> (HomeMount, Option<HomeReport>) {
    let Some(home) = profile.home.clone() else { return (HomeMount::default(), None) };
    if home.layer.is_none() {
        // Tool caches have to be there before the overlay shows them.
        profile.settle_home(State::ReadOnly);
    }
    let is_new = given.is_none();
    let made = match given {
        Some(namespaces) => enter(&namespaces, profile, &home)
            .map(|clones| (HomeMount { clones, namespaces: Some(namespaces) }, State::Private, None)),
        None => create(profile, &home),
    };
    let (mut mount, mut state, mut failed) =
        made.unwrap_or_else(|failed| (HomeMount::default(), State::Bare, Some(failed)));
    profile.settle_home(state);
    if let (Some(namespaces), State::ReadOnly, Some(_)) = (&mount.namespaces, state, &failed) {
        // The layer was refused, so the caches are needed after all.
        match enter(namespaces, profile, &home) {
            Ok(clones) => mount.clones = clones,
            Err(without_layer) => {
                (state, failed) = (State::Bare, Some(without_layer));
                profile.settle_home(state);
            }
        }
    }
    (mount, Some(HomeReport { state, is_new, failed }))
}

/// The descriptors that a server needs to give the same home to another keeper.
pub fn handles(mount: &HomeMount) -> Vec<BorrowedFd<'_>> {
    mount.namespaces.as_ref().map(NamespaceHandles::descriptors).map(Vec::from).unwrap_or_default()
}

/// Puts up masks as they are now, for all sessions that share the home.
pub fn refresh(namespaces: &NamespaceHandles, home: &Home, masks: &[Mask]) -> Result<(), Failure> {
    namespaces.enter()?;
    namespace::refresh(home, masks, &[])
}

/// Makes the home read-only for all sessions that share it.
pub fn close(namespaces: &NamespaceHandles) -> Result<(), Failure> {
    namespaces.enter()?;
    namespace::make_read_only()
}

/// From the child: it is in its own namespaces.
const MOVED: &[u8] = b"moved";

type Made = (HomeMount, State, Option<Failed>);

fn create(profile: &Profile, home: &Home) -> Result<Made, Failed> {
    let (masks, places) = (&profile.secrets, profile.places_in_home());
    let (ours, theirs) = pair()?;
    let child = match processes::fork().doing(|| "fork a process for the home".to_owned())? {
        Forked::Child => {
            drop(ours);
            let work = || {
                namespaces::leave_for_mounts(&home.mounted_below())?;
                packets::send(&theirs, MOVED);
                // The guard has written the id maps.
                packets::receive(&theirs, &mut [0; 1]).doing(|| "wait for the guard".to_owned())?;
                let refused = namespace::mount(home, masks, &places)?;
                Ok((namespace::clones(home)?, refused))
            };
            answer(&theirs, work())
        }
        Forked::Parent { child } => child,
    };
    drop(theirs);
    await_move(&ours)?;
    namespaces::map_ids(child)?;
    let namespaces = NamespaceHandles::open(child)?;
    packets::send(&ours, b"g");
    let (refused, clones) = receive(&ours)?;
    processes::wait_for(child);
    let state = match home.layer {
        Some(_) if refused.is_none() => State::Private,
        _ => State::ReadOnly,
    };
    Ok((HomeMount { clones, namespaces: Some(namespaces) }, state, refused))
}

/// Waits until the child is in its namespaces.
fn await_move(socket: &OwnedFd) -> Result<(), Failed> {
    let mut buffer = [0; 1024];
    let (count, _) = packets::receive(socket, &mut buffer).doing(|| "hear from the home".to_owned())?;
    if buffer[..count] == *MOVED { Ok(()) } else { Err(refusal(&buffer[..count])) }
}

fn enter(namespaces: &NamespaceHandles, profile: &Profile, home: &Home) -> Result<Vec<OwnedFd>, Failed> {
    let places = profile.places_in_home();
    let (ours, theirs) = pair()?;
    let child = match processes::fork().doing(|| "fork a process for the home".to_owned())? {
        Forked::Child => {
            drop(ours);
            let work = || {
                namespaces.enter()?;
                namespace::refresh(home, &profile.secrets, &places)?;
                Ok((namespace::clones(home)?, None))
            };
            answer(&theirs, work())
        }
        Forked::Parent { child } => child,
    };
    drop(theirs);
    let (_, clones) = receive(&ours)?;
    processes::wait_for(child);
    Ok(clones)
}

fn pair() -> Result<(OwnedFd, OwnedFd), Failure> {
    socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
        .doing(|| "create a socket for the home".to_owned())
}

/// Sends the clones, with the reason why the home is read-only if it is, and ends the child.
fn answer(socket: &OwnedFd, result: Result<(Vec<OwnedFd>, Option<Failure>), Failure>) -> ! {
    match result {
        Ok((clones, refused)) => {
            let clones: Vec<BorrowedFd<'_>> = clones.iter().map(AsFd::as_fd).collect();
            let refused = refused.map(|failure| Failed::from(failure).encode()).unwrap_or_default();
            packets::send_all(socket, &[b"-", refused.as_slice()].concat(), &clones);
        }
        Err(failure) => packets::send(socket, &Failed::from(failure).encode()),
    }
    processes::exit(0)
}

fn receive(socket: &OwnedFd) -> Result<(Option<Failed>, Vec<OwnedFd>), Failed> {
    let mut buffer = [0; 1024];
    let (count, clones) = packets::receive(socket, &mut buffer).doing(|| "hear from the home".to_owned())?;
    match (&buffer[..count], clones.is_empty()) {
        ([b'-', refused @ ..], false) => Ok((Failed::decode(refused), clones)),
        (message, _) => Err(refusal(message)),
    }
}

fn refusal(message: &[u8]) -> Failed {
    let no_answer = || Failed { errno: 0, reason: "no answer".to_owned() };
    Failed::decode(message).unwrap_or_else(no_answer).within("make a home for the session")
}
