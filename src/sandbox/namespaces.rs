//! Namespaces of the session's own: users, mounts, pids, System V objects, host name, and the network when it is off.
//! The guard makes them with the keeper inside and stays outside; a process cannot write its own full id map.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

use rustix::net::{AddressFamily, SocketType, socket};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::failure::{Doing, Failure};
use super::{Network, Profile};

/// As `fork`, with the child in new namespaces: 0 there, its pid here. Only for a process with a single thread.
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
        return Err(io::Error::last_os_error()).doing(|| "make namespaces for the session".to_owned());
    }
    Ok(i32::try_from(child).unwrap_or_default())
}

/// Tells the kernel which users exist inside. For root all of them, so that ordinary file work keeps its owners; for
/// anybody else the user alone.
pub fn map_ids(child: i32) -> Result<(), Failure> {
    let write = |name: &str, text: String| {
        let path = format!("/proc/{child}/{name}");
        std::fs::write(&path, text).doing(|| format!("write the session's {name}"))
    };
    if rustix::process::geteuid().is_root() {
        write("uid_map", identity("/proc/self/uid_map")?)?;
        write("gid_map", identity("/proc/self/gid_map")?)
    } else {
        let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        // The kernel wants this before an unprivileged group map.
        write("setgroups", "deny".to_owned())?;
        write("uid_map", format!("{user} {user} 1\n"))?;
        write("gid_map", format!("{group} {group} 1\n"))
    }
}

/// Every id that exists here, mapped to itself: in a container that is fewer than all there are.
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

/// The way back into a keeper's namespaces, for the guard. Taken before the keeper closes itself to everybody.
pub struct NamespaceHandles {
    users: File,
    mounts: File,
}

impl NamespaceHandles {
    pub fn open(child: i32) -> Result<Self, Failure> {
        let open =
            |name: &str| File::open(format!("/proc/{child}/ns/{name}")).doing(|| format!("open the session's {name}"));
        Ok(Self { users: open("user")?, mounts: open("mnt")? })
    }

    /// For a process that does one thing inside and ends. It comes with all rights there, and is seen by nobody.
    pub fn enter(&self) -> Result<(), Failure> {
        for (namespace, kind) in [(&self.users, LinkNameSpaceType::User), (&self.mounts, LinkNameSpaceType::Mount)] {
            move_into_link_name_space(namespace.as_fd(), Some(kind)).doing(|| "enter the session".to_owned())?;
        }
        Ok(())
    }
}

/// A new network namespace has a loopback, but it is down.
pub fn raise_loopback() -> io::Result<()> {
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    // SAFETY: ifreq is plain data, valid when zeroed.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_name[0] = b'l'.cast_signed();
    request.ifr_name[1] = b'o'.cast_signed();
    #[expect(clippy::cast_possible_truncation, reason = "the flag is a small constant of a short field")]
    let up = libc::IFF_UP as libc::c_short;
    request.ifr_ifru.ifru_flags = up;
    // SAFETY: the request is a whole ifreq that lives across the call.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::identity_of;

    #[test]
    fn a_map_becomes_itself_whatever_stands_outside() {
        assert_eq!(identity_of("         0          0 4294967295\n"), "0 0 4294967295\n");
        assert_eq!(identity_of("0 100000 65536\n65536 0 1\n"), "0 0 65536\n65536 65536 1\n");
    }
}
