//! The overlay over a project that is worked on as a draft. The server itself moves into a mount namespace in which the
//! overlay lies at the project's own path. Everything that the server and its sessions open there is the draft, so file
//! tools, commands and the watch over protected names cannot disagree. The host's mounts stay as they are.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::mount::MountFlags;
use rustix::thread::{
    CapabilitySet, CapabilitySets, LinkNameSpaceType, configure_capability_in_ambient_set, move_into_link_name_space,
    set_capabilities,
};

use super::failure::{Doing, Failure};
use super::home::{UPPER, WORK};
use super::mount_table::MountTable;
use super::mounts::calls;
use super::namespaces;
use crate::base::identity::Identity;

/// What marks a directory of the upper layer that hides the one underneath.
pub const OPAQUE: &str = "user.overlay.opaque";
/// The attributes that the kernel keeps in the upper layer for itself.
pub const OWN_ATTRIBUTES: &str = "user.overlay.";

/// How the name of a directory begins that the supervisor fills before it takes the place of one that is moved.
pub const MOVING: &str = ".testudo-move-";

/// Moves this process into a mount namespace of its own. For a process with a single thread only. An ordinary user needs a
/// user namespace too.
pub fn separate() -> Result<(), Failure> {
    let may_mount = may_mount();
    let what = || "create a mount namespace for the draft".to_owned();
    if may_mount {
        namespaces::unshare(libc::CLONE_NEWNS).doing(what)?;
    } else {
        with_ids_mapped(|| namespaces::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS)).doing(what)?;
    }
    // A file system that the person mounts or unmounts later comes and goes here too; what we mount stays with us.
    calls::make_slave().doing(|| "separate the draft's mounts from the host's".to_owned())?;
    if may_mount { Ok(()) } else { put_capabilities_aside() }
}

/// Whether this process needs no user namespace to mount something.
pub fn may_mount() -> bool {
    rustix::thread::capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_ADMIN))
}

/// Moves this process into the namespaces of another server. For a process with a single thread only.
pub fn join(users: &OwnedFd, mounts: &OwnedFd) -> Result<(), Failure> {
    // Entering the own user namespace again is refused.
    let other_users = number(users) != Identity::of(Path::new("/proc/self/ns/user"));
    let enter = |namespace: &OwnedFd, kind| {
        move_into_link_name_space(namespace.as_fd(), Some(kind))
            .doing(|| "enter the draft of another server".to_owned())
    };
    if other_users {
        enter(users, LinkNameSpaceType::User)?;
    }
    enter(mounts, LinkNameSpaceType::Mount)?;
    if other_users { put_capabilities_aside() } else { Ok(()) }
}

/// Whether two handles are of one namespace.
pub fn are_same(one: &OwnedFd, other: &OwnedFd) -> bool {
    number(one) == number(other)
}

pub fn is_own_mount_namespace(mounts: &OwnedFd) -> bool {
    number(mounts) == Identity::of(Path::new("/proc/self/ns/mnt"))
}

fn number(namespace: &OwnedFd) -> Option<Identity> {
    Identity::of(Path::new(&by_number(namespace)))
}

/// Handles of the namespaces that this process is in, for servers that join.
pub fn own_namespaces() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok((File::open("/proc/self/ns/user")?.into(), File::open("/proc/self/ns/mnt")?.into()))
}

/// Mounts the overlay at the project's own path. `layer` is the directory with the upper layer.
pub fn mount(project: &Path, layer: &Path) -> Result<(), Failure> {
    let (lower, upper, work) = (open(project)?, open(&layer.join(UPPER))?, open(&layer.join(WORK))?);
    let options =
        format!("lowerdir={},upperdir={},workdir={},userxattr", by_number(&lower), by_number(&upper), by_number(&work));
    with_capabilities(|| calls::mount_new("overlay", project, MountFlags::NOSUID | MountFlags::NODEV, &options))
        .doing(|| format!("mount an overlay over {}", project.display()))
}

/// Takes the overlay away again, in this process's namespace.
pub fn unmount(project: &Path) -> io::Result<()> {
    with_capabilities(|| calls::detach(project))
}

/// File systems that are mounted below a directory. An overlay over it would hide them.
pub fn mounted_below(directory: &Path) -> Vec<PathBuf> {
    MountTable::read().below(directory)
}

/// Starts a guard. It has to change mounts of our namespace in a copy of it, for which it gets one capability. No other
/// program that the server starts has it.
pub fn lending<T>(start: impl FnOnce() -> T) -> T {
    let lends = rustix::thread::capabilities(None)
        .is_ok_and(|sets| sets.inheritable.contains(CapabilitySet::SYS_ADMIN) && sets.effective.is_empty());
    if !lends {
        return start();
    }
    let _ = configure_capability_in_ambient_set(CapabilitySet::SYS_ADMIN, true);
    let started = start();
    let _ = configure_capability_in_ambient_set(CapabilitySet::SYS_ADMIN, false);
    started
}

/// An ordinary user has all capabilities in a user namespace of their own. File tools must not use them: a file that the
/// user may not read stays unreadable.
fn put_capabilities_aside() -> Result<(), Failure> {
    if rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let sets = rustix::thread::capabilities(None).doing(|| "read the capabilities".to_owned())?;
    let aside = CapabilitySets {
        effective: CapabilitySet::empty(),
        inheritable: CapabilitySet::SYS_ADMIN & sets.permitted,
        ..sets
    };
    set_capabilities(None, aside).doing(|| "put the capabilities aside".to_owned())
}

/// Takes up the capabilities that were put aside, for a moment. The overlay later acts with the rights that its mounter had.
/// The kernel also compares them before one server may look at the descriptors of another.
pub fn with_capabilities<T>(work: impl FnOnce() -> T) -> T {
    let Ok(before) = rustix::thread::capabilities(None) else { return work() };
    if before.effective == before.permitted {
        return work();
    }
    let _ = set_capabilities(None, CapabilitySets { effective: before.permitted, ..before });
    let result = work();
    let _ = set_capabilities(None, before);
    result
}

/// Runs `leave`, which moves this process into a new user namespace, and has a child outside write the id maps.
fn with_ids_mapped(leave: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    let (mut ours, mut theirs) = std::os::unix::net::UnixStream::pair()?;
    // SAFETY: this process has one thread, so the child's copy of the heap is consistent and no lock is held by a thread
    // that does not exist any more.
    let child = unsafe { libc::fork() };
    if child < 0 {
        return Err(io::Error::last_os_error());
    }
    if child == 0 {
        drop(ours);
        let parent = rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get());
        let mapped = theirs.read_exact(&mut [0]).is_ok() && namespaces::map_ids(parent).is_ok();
        let _ = theirs.write_all(&[u8::from(mapped)]);
        // SAFETY: ends the child without running what the parent has registered for its exit.
        unsafe { libc::_exit(0) };
    }
    drop(theirs);
    let left = leave();
    let mut mapped = [0];
    let answered = left.and_then(|()| ours.write_all(&[1])).and_then(|()| ours.read_exact(&mut mapped));
    drop(ours);
    let child = rustix::process::Pid::from_raw(child);
    let _ = rustix::process::waitpid(child, rustix::process::WaitOptions::empty());
    answered?;
    if mapped == [1] { Ok(()) } else { Err(io::Error::other("the id maps could not be written")) }
}

fn open(path: &Path) -> Result<OwnedFd, Failure> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).doing(|| format!("open {}", path.display()))
}

fn by_number(directory: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", directory.as_raw_fd())
}
