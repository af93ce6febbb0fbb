//! Acts as the caller's user, so that files and peers see the user they would have seen.

use std::io;
use std::os::fd::AsRawFd;

use super::Refused;
use super::caller::Caller;

/// Runs `act` with the effective user and groups of the caller. Only a session of root has more than one user.
pub fn as_caller<T>(caller: &Caller, act: impl FnOnce() -> T) -> Result<T, Refused> {
    let own_ids = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    if own_ids.0 != 0 || effective_ids(caller) == Some(own_ids) {
        return Ok(act());
    }
    let theirs = Identity::of(&caller.status()?)?;
    let own = Identity::current()?;
    if theirs == own {
        return Ok(act());
    }
    let result = theirs.become_effective().map(|()| act());
    if own.become_effective().is_err() {
        // We must not go on as somebody else. Without us the session ends.
        std::process::abort();
    }
    Ok(result?)
}

/// User and group, from a call of Linux 6.13 that costs a fraction of reading `/proc/PID/status`.
fn effective_ids(caller: &Caller) -> Option<(u32, u32)> {
    /// `struct pidfd_info` in its first version, of 64 bytes.
    #[repr(C)]
    #[derive(Default)]
    struct Info {
        mask: u64,
        cgroup: u64,
        pids: [u32; 3],
        real: [u32; 2],
        effective: [u32; 2],
        saved: [u32; 2],
        of_files: [u32; 2],
        exit_code: i32,
    }
    const PIDFD_GET_INFO: libc::Ioctl = 0xc040_ff0b_u32 as libc::Ioctl;
    const CREDENTIALS: u64 = 2;
    let mut info = Info { mask: CREDENTIALS, ..Info::default() };
    // SAFETY: the number of the request contains the size of the structure, which the kernel fills.
    let result = unsafe { libc::ioctl(caller.process().as_raw_fd(), PIDFD_GET_INFO, &raw mut info) };
    (result == 0 && info.mask & CREDENTIALS != 0).then_some((info.effective[0], info.effective[1]))
}

#[derive(Debug, Eq, PartialEq)]
struct Identity {
    user: u32,
    group: u32,
    groups: Vec<u32>,
}

impl Identity {
    /// Reads the effective ids from `/proc/PID/status`.
    fn of(status: &str) -> io::Result<Self> {
        let ids = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
            line.split_whitespace().filter_map(|id| id.parse::<u32>().ok()).collect::<Vec<_>>()
        };
        let effective = |name: &str| ids(name).get(1).copied().ok_or(io::ErrorKind::InvalidData);
        Ok(Self { user: effective("Uid:")?, group: effective("Gid:")?, groups: ids("Groups:") })
    }

    fn current() -> io::Result<Self> {
        let groups = rustix::process::getgroups()?;
        let mut groups: Vec<u32> = groups.into_iter().map(rustix::process::Gid::as_raw).collect();
        groups.sort_unstable();
        Ok(Self { user: rustix::process::geteuid().as_raw(), group: rustix::process::getegid().as_raw(), groups })
    }

    /// Root first, because only root may change the groups.
    fn become_effective(&self) -> io::Result<()> {
        const SAME: u32 = u32::MAX;
        let check = |result: i32| if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) };
        // SAFETY: the calls take integers, and a list of groups with its length that lives across the call.
        unsafe {
            check(libc::setresuid(SAME, 0, SAME))?;
            check(libc::setgroups(self.groups.len(), self.groups.as_ptr()))?;
            check(libc::setresgid(SAME, self.group, SAME))?;
            check(libc::setresuid(SAME, self.user, SAME))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Identity;

    #[test]
    fn the_effective_ids_are_read() {
        let status = "Name:\tx\nUid:\t0\t7\t0\t7\nGid:\t0\t8\t0\t8\nFDSize:\t64\nGroups:\t4 24 \n";
        assert_eq!(Identity::of(status).unwrap(), Identity { user: 7, group: 8, groups: vec![4, 24] });
        assert!(Identity::of("Name:\tx\n").is_err());
    }
}
