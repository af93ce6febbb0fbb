//! The descendants of the calling process, and how to end them.

use super::descriptors;
use super::process_table::{Member, ProcessTable};
use super::processes::{self, Waited};

/// Every living descendant of the calling process, without zombies, sorted by pid.
pub fn living() -> Vec<Member> {
    let mut members = below(&ProcessTable::default(), Member::own());
    members.sort_unstable_by_key(|member| member.pid);
    members
}

/// The direct children of the calling process, without zombies.
pub fn children() -> Vec<Member> {
    let children = ProcessTable::default().children_of(Member::own());
    children.into_iter().filter(|child| !child.is_dead()).collect()
}

/// For each child of the calling process: the child, and all its descendants.
pub fn trees() -> Vec<(Member, Vec<Member>)> {
    let table = ProcessTable::default();
    let children = table.children_of(Member::own()).into_iter().filter(|child| !child.is_dead());
    children.map(|child| (child, below(&table, child))).collect()
}

fn below(table: &ProcessTable, root: Member) -> Vec<Member> {
    let (mut found, mut next) = (Vec::new(), vec![root]);
    while let Some(parent) = next.pop() {
        let children = table.children_of(parent).into_iter().filter(|child| !child.is_dead());
        let from = found.len();
        found.extend(children);
        next.extend(&found[from..]);
    }
    found
}

/// Kills until no child is left. We are the sub-reaper, so orphans become our children, and a process that was forked
/// while we read `/proc` is killed in the next round.
pub fn end_all() {
    loop {
        kill_all();
        loop {
            match processes::wait_any() {
                Waited::Ended { .. } | Waited::Stopped { .. } => {}
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
    let living = living();
    let mut groups: Vec<i32> = living.iter().map(|member| processes::group(member.pid)).collect();
    groups.sort_unstable();
    groups.dedup();
    for group in groups.into_iter().filter(|group| *group > 1 && *group != own) {
        processes::kill(-group, libc::SIGKILL);
    }
    for member in living {
        processes::kill(member.pid, libc::SIGKILL);
    }
}

/// Sends a signal to every living descendant. A child that ends while we read its parent's list can hide its siblings, so we
/// look twice.
pub fn signal_all(signal: i32) {
    let mut signalled: Vec<i32> = Vec::new();
    for _ in 0..2 {
        let missed: Vec<i32> =
            living().into_iter().map(|member| member.pid).filter(|pid| !signalled.contains(pid)).collect();
        missed.iter().for_each(|pid| processes::kill(*pid, signal));
        signalled.extend(missed);
    }
}

/// Reaps the children of the calling process that have ended and are not its own.
pub fn reap_strangers(is_own: impl Fn(i32) -> bool) {
    let children = ProcessTable::default().children_of(Member::own());
    children
        .into_iter()
        .filter(|child| child.is_dead() && !is_own(child.pid))
        .for_each(|child| processes::reap(child.pid));
}
