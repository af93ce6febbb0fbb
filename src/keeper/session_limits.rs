//! Limits of a session that the kernel does not enforce for us: the keeper counts processes and memory itself, and kills
//! what exceeds them. A check takes a fraction of a millisecond, and the keeper only checks while commands run.

use std::path::Path;

use super::{descendants, processes};
use crate::sandbox::limits::Limits;

/// Milliseconds until the next check. A process can fill a gigabyte in the longer time; the default limit is a share of
/// the machine's memory that leaves room for that.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Pace {
    /// The session is far below every limit.
    Calm = 1000,
    Close = 250,
}

/// Kills the largest process of a session that uses too much memory, or the largest tree of one that has too many
/// processes. Calls `note` with the reason before it kills, so that the server knows the reason when the command ends, and
/// with the pid of the reaper whose command it is. Returns when to check again.
pub fn enforce(limits: &Limits, note: impl FnOnce(i32, &str)) -> Pace {
    let session = descendants::living();
    let count = session.len() as u64;
    if count > limits.processes {
        let limit = limits.processes;
        let text =
            format!("a command was killed: the session had {count} processes, sandbox.limits.processes is {limit}");
        note(largest_tree().map_or(0, |(reaper, _)| reaper), &text);
        kill_largest_tree();
        return Pace::Close;
    }
    let sizes: Vec<(u64, i32)> = session.into_iter().map(|pid| (memory(pid), pid)).collect();
    let used: u64 = sizes.iter().map(|(size, _)| size).sum();
    if let Some((size, pid)) = sizes.into_iter().max().filter(|_| used > limits.memory) {
        let owner = descendants::trees().into_iter().find(|(_, tree)| tree.contains(&pid));
        let text = format!(
            "{} (pid {pid}, {}) was killed: the session used {} of memory, sandbox.limits.memory is {}",
            name(pid),
            megabytes(size),
            megabytes(used),
            megabytes(limits.memory)
        );
        note(owner.map_or(0, |(reaper, _)| reaper), &text);
        processes::kill(pid, libc::SIGKILL);
    }
    if used > limits.memory / 10 || count > limits.processes / 10 { Pace::Close } else { Pace::Calm }
}

/// Repeats, because processes are forked while we read `/proc` and kill. A killed process forks no more.
fn kill_largest_tree() {
    const ROUNDS: usize = 100;
    for _ in 0..ROUNDS {
        let Some((_, largest)) = largest_tree() else { break };
        if largest.len() < 2 {
            break;
        }
        largest.into_iter().for_each(|pid| processes::kill(pid, libc::SIGKILL));
    }
}

/// The reaper whose command has the most processes, and these processes.
fn largest_tree() -> Option<(i32, Vec<i32>)> {
    descendants::trees().into_iter().max_by_key(|(_, tree)| tree.len())
}

/// The resident bytes that only this process uses. Shared memory and files would be counted again for each process that
/// maps them.
fn memory(pid: i32) -> u64 {
    let text = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("statm")).unwrap_or_default();
    let mut pages = text.split(' ').skip(1).map(|field| field.parse::<u64>().unwrap_or(0));
    let (resident, shared) = (pages.next().unwrap_or(0), pages.next().unwrap_or(0));
    resident.saturating_sub(shared) * rustix::param::page_size() as u64
}

fn name(pid: i32) -> String {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.trim_end().to_owned()
}

fn megabytes(bytes: u64) -> String {
    format!("{} MB", bytes >> 20)
}
