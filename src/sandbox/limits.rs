//! How much a session may use. [`apply`] sets the limits of single processes, which work everywhere. How a whole session is
//! counted depends on the level and the user: see `docs/sandbox.md`.

use std::os::unix::fs::MetadataExt;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::Deserialize;

use super::failure::{Doing, Failure};
use super::{Level, Profile};

/// `[sandbox.limits]` of the configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Processes and threads of a session.
    pub processes: u64,
    /// Memory of a session: a size, or a share of the machine's memory like `50%`.
    pub memory: Memory,
    /// What a project's private home may hold.
    #[serde(deserialize_with = "crate::base::size::size")]
    pub home: u64,
    /// The largest file that a command may write.
    #[serde(deserialize_with = "crate::base::size::size")]
    pub file: u64,
    /// Open files of one process.
    pub open_files: u64,
    /// Processes and threads of all sessions of a server together.
    pub total_processes: u64,
    /// Memory of all sessions of a server together.
    pub total_memory: Memory,
    /// What a session may keep on disk: its stored output and its temporary directory.
    #[serde(deserialize_with = "crate::base::size::size")]
    pub disk: u64,
    /// The same for all sessions of a server together.
    #[serde(deserialize_with = "crate::base::size::size")]
    pub total_disk: u64,
}

/// An amount of memory, as a person writes it.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(try_from = "String")]
pub enum Memory {
    Bytes(u64),
    Percent(u64),
}

/// The limits that one keeper enforces, in numbers and bytes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Limits {
    pub processes: u64,
    pub memory: u64,
    pub file: u64,
    pub open_files: u64,
}

/// What all sessions of a server together may use, in numbers and bytes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TotalLimits {
    pub processes: u64,
    pub memory: u64,
}

/// The most bytes that a session, and all sessions of a server together, may keep on disk.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct DiskLimits {
    pub session: u64,
    pub total: u64,
}

impl TryFrom<String> for Memory {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.strip_suffix('%').map(str::parse) {
            Some(Ok(percent @ 1..=100)) => Ok(Self::Percent(percent)),
            Some(_) => Err(format!("{text:?} is not a share between 1% and 100%")),
            None => crate::base::size::parse(&text).map(Self::Bytes),
        }
    }
}

impl Memory {
    fn bytes(self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Percent(percent) => rustix::system::sysinfo().totalram / 100 * percent,
        }
    }
}

impl Settings {
    pub fn limits(&self) -> Limits {
        let memory = self.memory.bytes();
        Limits { processes: self.processes, memory, file: self.file, open_files: self.open_files }
    }

    pub fn total_limits(&self) -> TotalLimits {
        TotalLimits { processes: self.total_processes, memory: self.total_memory.bytes() }
    }

    pub fn disk_limits(&self) -> DiskLimits {
        DiskLimits { session: self.disk, total: self.total_disk }
    }
}

/// Sets the limits that every process of the session inherits. No process can raise them again.
pub fn apply(profile: &Profile) -> Result<(), Failure> {
    let limits = &profile.limits;
    set(Resource::Core, 0)?;
    set(Resource::Fsize, limits.file)?;
    set(Resource::Nofile, limits.open_files)?;
    let root = rustix::process::geteuid().is_root();
    match profile.level {
        // In the session's own user namespace, the kernel counts only the session's processes. This limit does not apply
        // to root; `mounts::proc` limits root's pids instead.
        Level::Full => set(Resource::Nproc, limits.processes)?,
        // Without a user namespace, the kernel counts everything that the user runs.
        Level::Landlock | Level::None if !root => set(Resource::Nproc, limits.processes + running_already())?,
        // RLIMIT_NPROC does not apply to root, so the keeper counts processes itself. It must get CPU time even while
        // a fork bomb runs.
        Level::Landlock | Level::None => raise_priority(),
    }
    // When memory runs out, the kernel should kill a command and not the person's editor.
    let _ = std::fs::write("/proc/self/oom_score_adj", "500");
    Ok(())
}

fn set(resource: Resource, limit: u64) -> Result<(), Failure> {
    let most = getrlimit(resource).maximum.unwrap_or(u64::MAX);
    let limit = Some(limit.min(most));
    setrlimit(resource, Rlimit { current: limit, maximum: limit }).doing(|| format!("limit {resource:?}"))
}

/// The number of processes and threads that the user runs already, in all sessions.
fn running_already() -> u64 {
    let own = rustix::process::getuid().as_raw();
    let Ok(entries) = std::fs::read_dir("/proc") else { return 0 };
    let ours = entries.flatten().filter(|entry| entry.metadata().is_ok_and(|metadata| metadata.uid() == own));
    let threads = ours.filter_map(|entry| std::fs::read_dir(entry.path().join("task")).ok().map(Iterator::count));
    threads.sum::<usize>() as u64
}

/// Gives the keeper a larger share of the CPU than any command gets; its children do not inherit this. An error is fine: then
/// the keeper only reacts more slowly.
fn raise_priority() {
    // Not a real-time class: many keepers in one would keep the rest of the machine waiting.
    const NICE: i32 = -10;
    // SAFETY: sched_param is plain data, valid when zeroed, and outlives the call.
    unsafe {
        let parameters: libc::sched_param = std::mem::zeroed();
        libc::sched_setscheduler(0, libc::SCHED_OTHER | libc::SCHED_RESET_ON_FORK, &raw const parameters);
        libc::setpriority(libc::PRIO_PROCESS, 0, NICE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_a_size_or_a_share() {
        assert_eq!(Memory::try_from("50%".to_owned()), Ok(Memory::Percent(50)));
        assert_eq!(Memory::try_from("2GB".to_owned()), Ok(Memory::Bytes(2 << 30)));
        for bad in ["0%", "101%", "x%", "much"] {
            assert!(Memory::try_from(bad.to_owned()).is_err(), "{bad}");
        }
    }
}
