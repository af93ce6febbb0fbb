//! Which process holds a socket, and whether a process belongs to one of our sessions.

use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::sync::Mutex;

use rustix::fs::{Mode, OFlags, RawDir, open, readlinkat_raw};

use super::{Caller, lookout};
use crate::base::locks::LockExt;
use crate::exec::guards;
use crate::keeper::guard::SUBCOMMAND;
use crate::sandbox::cgroup;

/// A process that holds this socket. Our own does not count: it may hold a session's socket for a moment.
pub fn holder(inode: u64) -> Option<i32> {
    lookout::ask(inode).unwrap_or_else(|| search(inode, &[own()]))
}

/// The processes that held the last sockets. The server looks at them first, so that it finds a client with many connections
/// without a look at thousands of processes of its sessions. It decides about each of them anew every time.
static LAST_HOLDERS: Mutex<Vec<i32>> = Mutex::new(Vec::new());
const REMEMBERED: usize = 8;

/// Looks through the processes of the machine, except for these.
pub fn search(inode: u64, except: &[i32]) -> Option<i32> {
    if inode == 0 {
        return None;
    }
    let link = format!("socket:[{inode}]");
    let is_holder = |pid: &i32| !except.contains(pid) && holds(*pid, link.as_bytes());
    let last = LAST_HOLDERS.locked().clone();
    // Clients are usually younger than most processes of the machine.
    let found = last.into_iter().find(is_holder).or_else(|| all().into_iter().rev().find(is_holder))?;
    let mut last = LAST_HOLDERS.locked();
    last.retain(|pid| *pid != found);
    last.insert(0, found);
    last.truncate(REMEMBERED);
    Some(found)
}

/// Whether the process belongs to one of our sessions: it descends from a guard.
pub fn caller(pid: i32) -> Caller {
    below(pid, guards::is_one)
}

/// As [`caller`], for the sessions of all servers. No command can change how its guard was called.
pub fn caller_of_any_server(pid: i32) -> Caller {
    below(pid, |pid| guards::is_one(pid) || is_called_guard(pid))
}

fn below(pid: i32, is_guard: impl Fn(i32) -> bool) -> Caller {
    // A process can end while we look. Its children then have another parent. Only a line that leads to the first process
    // of the machine shows that there is no guard in it.
    const TRIES: usize = 3;
    for _ in 0..TRIES {
        let mut current = pid;
        loop {
            if is_guard(current) {
                return Caller::Session;
            }
            match parent(current) {
                Some(0) => return Caller::Outside,
                Some(parent) => current = parent,
                None => break,
            }
        }
    }
    // `/proc` may hide the processes of other users (`hidepid`), and with them the parents of many callers. Every command
    // in a sandbox has given up new privileges, forever.
    match gave_up_privileges(pid) {
        Some(false) => Caller::Outside,
        Some(true) => Caller::Session,
        None => Caller::Unknown,
    }
}

fn is_called_guard(pid: i32) -> bool {
    let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    words.split(|byte| *byte == 0).nth(1) == Some(SUBCOMMAND.as_bytes())
}

/// Whether no process of a session can ever have been in this control group. If a group cannot be found out, this is not
/// known.
pub fn no_session_is_in_cgroup(id: u64) -> bool {
    none_is_in_cgroup(id, guards::is_one)
}

/// As [`no_session_is_in_cgroup`], for the sessions of all servers.
pub fn no_guarded_is_in_cgroup(id: u64) -> bool {
    none_is_in_cgroup(id, is_called_guard)
}

fn none_is_in_cgroup(id: u64, is_guard: impl Fn(i32) -> bool) -> bool {
    // Witness, guard, supervisor, keeper: commands start in the keeper's group and cannot leave it.
    const GENERATIONS: usize = 4;
    let parents: HashMap<i32, i32> = all().into_iter().filter_map(|pid| Some((pid, parent(pid)?))).collect();
    let line = |pid: i32| std::iter::successors(Some(pid), |pid| parents.get(pid).copied()).take(GENERATIONS);
    let mut of_sessions = parents.keys().filter(|pid| line(**pid).any(&is_guard));
    of_sessions.all(|pid| cgroup::id_of(*pid).is_some_and(|group| group != id))
}

fn parent(pid: i32) -> Option<i32> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program comes second, in brackets, and may hold anything.
    let close = stat.iter().rposition(|byte| *byte == b')')?;
    std::str::from_utf8(stat.get(close + 1..)?).ok()?.split_whitespace().nth(1)?.parse().ok()
}

fn own() -> i32 {
    rustix::process::getpid().as_raw_nonzero().get()
}

fn all() -> Vec<i32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let mut pids: Vec<i32> = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    pids.sort_unstable();
    pids
}

fn holds(pid: i32, link: &[u8]) -> bool {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(files) = open(format!("/proc/{pid}/fd"), flags, Mode::empty()) else { return false };
    let mut names = [MaybeUninit::uninit(); 4096];
    let mut entries = RawDir::new(&files, &mut names);
    while let Some(Ok(entry)) = entries.next() {
        // Longer than the name of any socket, so a name that is cut off here is none.
        let mut target = [MaybeUninit::uninit(); 64];
        let target = readlinkat_raw(&files, entry.file_name(), &mut target);
        if target.is_ok_and(|(target, _)| target == link) {
            return true;
        }
    }
    false
}

fn gave_up_privileges(pid: i32) -> Option<bool> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    Some(status.lines().find_map(|line| line.strip_prefix("NoNewPrivs:"))?.trim() == "1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_outside_is_no_sessions() {
        assert_eq!(caller(own()), Caller::Outside);
        assert_eq!(caller(1), Caller::Outside);
        assert_eq!(caller_of_any_server(own()), Caller::Outside);
        for gone in [i32::MAX, ended()] {
            assert_eq!(caller(gone), Caller::Unknown);
            assert_eq!(caller_of_any_server(gone), Caller::Unknown, "a session may have ended it");
        }
    }

    fn ended() -> i32 {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        child.id().cast_signed()
    }

    #[test]
    fn the_holder_of_a_socket_is_found_in_another_process() {
        use std::os::fd::{AsRawFd, OwnedFd};
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        let link = std::fs::read_link(format!("/proc/self/fd/{}", theirs.as_raw_fd())).unwrap();
        let inode = link.to_str().unwrap().trim_start_matches("socket:[").trim_end_matches(']').parse().unwrap();
        assert_eq!(holder(inode), None);
        let mut child = std::process::Command::new("cat").stdin(OwnedFd::from(theirs)).spawn().unwrap();
        assert_eq!(holder(inode), Some(child.id().cast_signed()));
        drop(ours);
        child.wait().unwrap();
        assert_eq!(holder(inode), None);
    }
}
