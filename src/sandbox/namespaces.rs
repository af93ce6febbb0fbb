//! The namespaces of a session: user, mount, pid, IPC, UTS, and network unless the network is on. The guard forks the keeper
//! into them and stays outside, because a process inside could not write the full id maps.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use rustix::thread::{
    CapabilitySet, LinkNameSpaceType, ThreadNameSpaceType, move_into_link_name_space, move_into_thread_name_spaces,
};

use super::failure::{Doing, Failure};
use super::mounts::calls;
use super::{Network, Profile};

/// As `fork`, but the child is in new namespaces. Returns 0 in the child and the child's pid in the parent. For a process
/// with a single thread only.
pub fn fork_inside(profile: &Profile) -> Result<i32, Failure> {
    let mut flags =
        libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS;
    if profile.network != Network::On {
        flags |= libc::CLONE_NEWNET;
    }
    // SAFETY: without a stack, clone behaves like fork; the guard has one thread, so the child's copy of the heap is
    // consistent and no lock is held by a thread that does not exist any more.
    let child = unsafe { libc::syscall(libc::SYS_clone, flags | libc::SIGCHLD, 0, 0, 0, 0) };
    if child < 0 {
        return Err(io::Error::last_os_error()).doing(|| "create namespaces for the session".to_owned());
    }
    Ok(i32::try_from(child).unwrap_or_default())
}

/// Moves the calling process into user and mount namespaces of its own, where it can mount something. `without` are mounts
/// that should not be there. Only root can unmount them, and only before it enters the user namespace: mounts that come
/// from outside are locked in it, because they may hide something.
pub fn leave_for_mounts(without: &[PathBuf]) -> Result<(), Failure> {
    if !without.is_empty() && unshare(libc::CLONE_NEWNS).is_ok() && calls::make_private().is_ok() {
        for path in without {
            // Several file systems may be mounted at one place.
            while calls::detach(path).is_ok() {}
        }
    }
    unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS).doing(|| "create namespaces for the home".to_owned())
}

pub fn unshare(flags: i32) -> io::Result<()> {
    // SAFETY: takes no pointers. The process has one thread, so no other thread is left in the old namespaces.
    if unsafe { libc::unshare(flags) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Moves the calling process into the namespaces of a child that [`fork_inside`] made, where it has all capabilities. Its
/// own pid namespace stays the same; that of its children is the child's.
pub fn follow(child: i32) -> Result<(), Failure> {
    let doing = || "enter the session's namespaces".to_owned();
    let pid = rustix::process::Pid::from_raw(child).ok_or(io::ErrorKind::InvalidInput).doing(doing)?;
    let process = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).doing(doing)?;
    let all = ThreadNameSpaceType::USER
        | ThreadNameSpaceType::MOUNT
        | ThreadNameSpaceType::PROCESS_ID
        | ThreadNameSpaceType::INTER_PROCESS_COMMUNICATION;
    move_into_thread_name_spaces(process.as_fd(), all).doing(doing)
}

/// Maps the user and group ids of the new user namespace. For root all ids are mapped, so that files keep their owners. For
/// any other user, and for a root without the capabilities to do that, only the user's own id is.
pub fn map_ids(child: i32) -> Result<(), Failure> {
    let needed = CapabilitySet::SETUID | CapabilitySet::SETGID;
    let may_map_all = rustix::process::geteuid().is_root()
        && rustix::thread::capabilities(None).is_ok_and(|sets| sets.effective.contains(needed));
    let write = |name: &str, text: String| {
        let path = format!("/proc/{child}/{name}");
        std::fs::write(&path, text).doing(|| format!("write the session's {name}"))
    };
    if may_map_all {
        write("uid_map", identity("/proc/self/uid_map")?)?;
        write("gid_map", identity("/proc/self/gid_map")?)
    } else {
        let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        // The kernel requires this before an unprivileged process may write a group map.
        write("setgroups", "deny".to_owned())?;
        write("uid_map", format!("{user} {user} 1\n"))?;
        write("gid_map", format!("{group} {group} 1\n"))
    }
}

/// A map of each id to itself, for the ids that exist here. In a container these are not all possible ids.
fn identity(map: &str) -> Result<String, Failure> {
    let text = std::fs::read_to_string(map).doing(|| format!("read {map}"))?;
    Ok(identity_of(&text))
}

fn identity_of(map: &str) -> String {
    let ranges = map.lines().filter_map(|line| {
        let mut fields = line.split_whitespace();
        let (inside, _outside, count) = (fields.next()?, fields.next()?, fields.next()?);
        Some(format!("{inside} {inside} {count}\n"))
    });
    ranges.collect()
}

/// Handles by which the guard can enter the keeper's namespaces later. It opens them before the keeper becomes not dumpable,
/// which closes these files to other processes.
pub struct NamespaceHandles {
    users: OwnedFd,
    mounts: OwnedFd,
}

impl NamespaceHandles {
    pub fn open(child: i32) -> Result<Self, Failure> {
        let open =
            |name: &str| File::open(format!("/proc/{child}/ns/{name}")).doing(|| format!("open the session's {name}"));
        Ok(Self { users: open("user")?.into(), mounts: open("mnt")?.into() })
    }

    /// From descriptors that another process has opened.
    pub fn received(users: OwnedFd, mounts: OwnedFd) -> Self {
        Self { users, mounts }
    }

    pub fn descriptors(&self) -> [BorrowedFd<'_>; 2] {
        [self.users.as_fd(), self.mounts.as_fd()]
    }

    /// Moves the calling process into the namespaces, where it has all capabilities. It stays in the guard's pid namespace,
    /// so commands cannot see it.
    pub fn enter(&self) -> Result<(), Failure> {
        for (namespace, kind) in [(&self.users, LinkNameSpaceType::User), (&self.mounts, LinkNameSpaceType::Mount)] {
            move_into_link_name_space(namespace.as_fd(), Some(kind)).doing(|| "enter the session".to_owned())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::identity_of;

    #[test]
    fn each_id_is_mapped_to_itself_whatever_it_is_outside() {
        assert_eq!(identity_of("         0          0 4294967295\n"), "0 0 4294967295\n");
        assert_eq!(identity_of("0 100000 65536\n65536 0 1\n"), "0 0 65536\n65536 65536 1\n");
    }
}
