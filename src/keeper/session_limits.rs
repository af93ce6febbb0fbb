//! Limits of a session that the kernel does not enforce for us: the keeper counts processes and memory itself, and kills
//! what exceeds them. A check takes a fraction of a millisecond, and the keeper only checks while commands run.

use std::path::Path;

use super::memory::Hog;
use super::process_table::Member;
use super::protocol::{Excess, SessionUsage};
use super::{descendants, left_segments, memory, processes};
use crate::sandbox::{Level, Profile};

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
/// with the pid of the reaper whose command it is. Returns when to check again, and what the session uses.
pub fn enforce(profile: &Profile, note: impl FnOnce(i32, &str)) -> (Pace, SessionUsage) {
    let limits = &profile.limits;
    let trees = descendants::trees();
    let processes = trees.iter().map(|(_, tree)| tree.len() as u64 + 1).sum::<u64>();
    if processes > limits.processes {
        let limit = limits.processes;
        kill_largest_tree(&format!("the session had {processes} processes, sandbox.limits.processes is {limit}"), note);
        return (Pace::Close, SessionUsage { processes, memory: 0 });
    }
    let usage = memory::measure(&trees, profile);
    let memory = usage.total;
    let removed = if memory > limits.memory && profile.level == Level::Full { left_segments::remove() } else { 0 };
    if removed > 0 {
        // Perhaps that is enough. The next check tells.
        let (used, limit, removed) = (megabytes(memory), megabytes(limits.memory), megabytes(removed));
        note(
            0,
            &format!(
                "System V shared memory that nobody had attached ({removed}) was removed: the session used {used} of \
                 memory, sandbox.limits.memory is {limit}"
            ),
        );
    } else if let Some(hog) = usage.largest.filter(|_| memory > limits.memory) {
        let (used, limit) = (megabytes(memory), megabytes(limits.memory));
        kill_hog(&hog, &format!("the session used {used} of memory, sandbox.limits.memory is {limit}"), note);
    }
    let close = memory > limits.memory / 10 || processes > limits.processes / 10;
    (if close { Pace::Close } else { Pace::Calm }, SessionUsage { processes, memory })
}

/// Kills what uses most, because the server has found that there is too much of it.
pub fn shed(profile: &Profile, excess: Excess, reason: &str, note: impl FnOnce(i32, &str)) {
    match excess {
        Excess::Processes => kill_largest_tree(reason, note),
        Excess::Memory => {
            if let Some(hog) = memory::measure(&descendants::trees(), profile).largest {
                kill_hog(&hog, reason, note);
            }
        }
        Excess::Disk => {
            let trees = descendants::trees();
            let members = trees.iter().flat_map(|(reaper, tree)| tree.iter().map(move |member| (*reaper, *member)));
            let writes_there = |member: Member| (has_open(member, profile.tmp_seen()), written(member));
            if let Some((reaper, writer)) = members.max_by_key(|(_, member)| writes_there(*member)) {
                let (name, pid) = (name(writer), writer.pid);
                note(reaper.pid, &format!("{name} (pid {pid}) was killed: {reason}; remove files from $TMPDIR"));
                processes::kill(pid, libc::SIGKILL);
            }
        }
    }
}

fn kill_hog(hog: &Hog, reason: &str, note: impl FnOnce(i32, &str)) {
    let (name, pid, size) = (name(hog.process), hog.process.pid, megabytes(hog.bytes));
    note(hog.reaper.pid, &format!("{name} (pid {pid}, {size}) was killed: {reason}"));
    processes::kill(pid, libc::SIGKILL);
}

/// Whether a process has a file below this directory open.
fn has_open(member: Member, directory: &Path) -> bool {
    let entries = std::fs::read_dir(member.file("fd")).into_iter().flatten().flatten();
    entries.filter_map(|entry| std::fs::read_link(entry.path()).ok()).any(|file| file.starts_with(directory))
}

/// Bytes that a process has written in its life.
fn written(member: Member) -> u64 {
    let text = std::fs::read_to_string(member.file("io")).unwrap_or_default();
    text.lines().find_map(|line| line.strip_prefix("wchar: ")?.parse().ok()).unwrap_or(0)
}

/// How often to kill what was forked meanwhile.
const ROUNDS: usize = 100;

/// Repeats, because processes are forked while we read `/proc` and kill. A killed process forks no more.
fn kill_largest_tree(reason: &str, note: impl FnOnce(i32, &str)) {
    let reaper = largest(descendants::trees()).map_or(0, |(reaper, _)| reaper.pid);
    note(reaper, &format!("a command was killed: {reason}"));
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
