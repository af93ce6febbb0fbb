//! Limits of a session that the kernel does not enforce for us: the keeper counts processes and memory itself, and kills
//! what exceeds them. A check takes a fraction of a millisecond, and the keeper only checks while commands run.

use super::process_table::Member;
use super::{descendants, memory, processes};
use crate::sandbox::Profile;

/// Milliseconds until the next check. A process can fill a gigabyte in the longer time; the default limit is a share of
/// the machine's memory that leaves room for that.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Pace {
    /// The session is far below every limit.
    Calm = 1000,
    Close = 250,
}

/// A reaper and the processes of its command.
type Tree = (Member, Vec<Member>);

/// Kills the largest process of a session that uses too much memory, or the largest tree of one that has too many
/// processes. Calls `note` with the reason before it kills, so that the server knows the reason when the command ends, and
/// with the pid of the reaper whose command it is. Returns when to check again.
pub fn enforce(profile: &Profile, note: impl FnOnce(i32, &str)) -> Pace {
    let limits = &profile.limits;
    let trees = descendants::trees();
    let count = trees.iter().map(|(_, tree)| tree.len() as u64 + 1).sum::<u64>();
    if count > limits.processes {
        let limit = limits.processes;
        let text =
            format!("a command was killed: the session had {count} processes, sandbox.limits.processes is {limit}");
        note(largest(trees).map_or(0, |(reaper, _)| reaper.pid), &text);
        kill_largest_tree();
        return Pace::Close;
    }
    let usage = memory::measure(&trees, profile);
    if let Some(hog) = usage.largest.filter(|_| usage.total > limits.memory) {
        let text = format!(
            "{} (pid {}, {}) was killed: the session used {} of memory, sandbox.limits.memory is {}",
            name(hog.process),
            hog.process.pid,
            megabytes(hog.bytes),
            megabytes(usage.total),
            megabytes(limits.memory)
        );
        note(hog.reaper.pid, &text);
        processes::kill(hog.process.pid, libc::SIGKILL);
    }
    if usage.total > limits.memory / 10 || count > limits.processes / 10 { Pace::Close } else { Pace::Calm }
}

/// Repeats, because processes are forked while we read `/proc` and kill. A killed process forks no more.
fn kill_largest_tree() {
    const ROUNDS: usize = 100;
    for _ in 0..ROUNDS {
        let Some((_, tree)) = largest(descendants::trees()) else { break };
        if tree.len() < 2 {
            break;
        }
        tree.into_iter().for_each(|member| processes::kill(member.pid, libc::SIGKILL));
    }
}

/// The reaper whose command has the most processes, and these processes.
fn largest(trees: Vec<Tree>) -> Option<Tree> {
    trees.into_iter().max_by_key(|(_, tree)| tree.len())
}

fn name(member: Member) -> String {
    let name = std::fs::read_to_string(member.file("comm")).unwrap_or_default();
    name.trim_end().to_owned()
}

fn megabytes(bytes: u64) -> String {
    format!("{} MB", bytes >> 20)
}
