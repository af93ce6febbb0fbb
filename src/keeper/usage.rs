//! What a session uses, counted by the keeper where the kernel does not count it for us, and an end to what uses too
//! much. Looking takes a fraction of a millisecond, and only happens while commands run.

use std::path::Path;

use super::{descendants, sys};
use crate::sandbox::limits::Limits;

/// Between two looks, in milliseconds. A process can fill a gigabyte in the longer time; the limit is a share of the
/// machine that leaves room for it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Pace {
    /// Far from every limit.
    Calm = 1000,
    Close = 250,
}

/// Ends the largest process, or the largest tree, of a session that uses more than it may. What is ended and why is told
/// first: a call must not report its end before its reason is known. Says when to look again.
pub fn enforce(limits: &Limits, tell: impl FnOnce(&str)) -> Pace {
    let session = descendants::living();
    let count = session.len() as u64;
    if count > limits.processes {
        let limit = limits.processes;
        tell(&format!("a command was ended: the session had {count} processes, sandbox.limits.processes is {limit}"));
        end_largest_tree();
        return Pace::Close;
    }
    let sizes: Vec<(u64, i32)> = session.into_iter().map(|pid| (memory(pid), pid)).collect();
    let used: u64 = sizes.iter().map(|(size, _)| size).sum();
    if let Some((size, pid)) = sizes.into_iter().max().filter(|_| used > limits.memory) {
        tell(&format!(
            "{} (pid {pid}, {}) was ended: the session used {} of memory, sandbox.limits.memory is {}",
            name(pid),
            megabytes(size),
            megabytes(used),
            megabytes(limits.memory)
        ));
        sys::kill(pid, libc::SIGKILL);
    }
    if used > limits.memory / 10 || count > limits.processes / 10 { Pace::Close } else { Pace::Calm }
}

/// What forks while we look is met in the next round; what has been killed forks no more.
fn end_largest_tree() {
    const ROUNDS: usize = 100;
    for _ in 0..ROUNDS {
        let Some(largest) = descendants::trees().into_iter().max_by_key(Vec::len) else { break };
        if largest.len() < 2 {
            break;
        }
        largest.into_iter().for_each(|pid| sys::kill(pid, libc::SIGKILL));
    }
}

/// Bytes that are this process's alone: shared memory and files would count once for every process that maps them.
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
