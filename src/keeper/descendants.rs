//! The descendants of the calling process. The kernel keeps the tree of processes; we read it from `/proc`.

use std::collections::HashMap;

use super::descriptors;
use super::processes::{self, Waited};

/// Every living descendant of the calling process, without zombies, sorted by pid.
pub fn living() -> Vec<i32> {
    let mut pids: Vec<i32> = living_processes().into_iter().map(|process| process.pid).collect();
    pids.sort_unstable();
    pids
}

/// Makes a single pass over the table of processes, because a fork bomb leaves tens of thousands of entries.
fn living_processes() -> Vec<Process> {
    let mut by_parent: HashMap<i32, Vec<Process>> = HashMap::new();
    for process in all_processes() {
        by_parent.entry(process.parent).or_default().push(process);
    }
    let mut found = Vec::new();
    let mut next = vec![processes::own_pid()];
    while let Some(parent) = next.pop() {
        for process in by_parent.remove(&parent).unwrap_or_default() {
            next.push(process.pid);
            if !process.dead {
                found.push(process);
            }
        }
    }
    found
}

/// The direct children of the calling process, without zombies.
pub fn children() -> Vec<i32> {
    let own = processes::own_pid();
    all_processes().iter().filter(|process| process.parent == own && !process.dead).map(|process| process.pid).collect()
}

/// For each child of the calling process: the child, and all its descendants.
pub fn trees() -> Vec<(i32, Vec<i32>)> {
    let parents = all_processes();
    let below = |root: i32| {
        let (mut found, mut next) = (Vec::new(), vec![root]);
        while let Some(parent) = next.pop() {
            let children = parents.iter().filter(|process| process.parent == parent && !process.dead);
            let children: Vec<i32> = children.map(|process| process.pid).collect();
            next.extend(&children);
            found.extend(children);
        }
        found
    };
    children().into_iter().map(|child| (child, below(child))).collect()
}

/// Kills until no child is left. We are the sub-reaper, so orphans become our children, and a process that was forked
/// while we read `/proc` is killed in the next round.
pub fn end_all() {
    loop {
        kill_all();
        loop {
            match processes::wait_any() {
                Waited::Ended { .. } => {}
                Waited::NoneYet => break,
                Waited::NoChildren => return,
            }
        }
        descriptors::wait_for(&[], Some(1));
    }
}

/// Kills every living descendant, and whole process groups before single processes. The kernel kills a group in one step,
/// so a program that forks faster than we can read `/proc` does not escape.
pub fn kill_all() {
    let own = processes::own_group();
    let living = living_processes();
    let mut groups: Vec<i32> = living.iter().map(|process| process.group).collect();
    groups.sort_unstable();
    groups.dedup();
    for group in groups.into_iter().filter(|group| *group > 1 && *group != own) {
        processes::kill(-group, libc::SIGKILL);
    }
    for process in living {
        processes::kill(process.pid, libc::SIGKILL);
    }
}

struct Process {
    pid: i32,
    parent: i32,
    group: i32,
    dead: bool,
}

fn all_processes() -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).filter_map(process).collect()
}

/// Reads `/proc/PID/stat`. The name in parentheses may contain anything, so we count fields from the last `)`.
fn process(pid: i32) -> Option<Process> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let after = stat.iter().rposition(|byte| *byte == b')')? + 2;
    let text = std::str::from_utf8(stat.get(after..)?).ok()?;
    let mut fields = text.split(' ');
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    Some(Process { pid, parent, group, dead: matches!(state, "Z" | "X") })
}
