//! The kernel's table of processes, read from `/proc`: who is whose child.
//!
//! `/proc/PID/task/TID/children` lists the children of one thread, so a small tree is read without looking at any other
//! process of the machine. The file is missing on kernels without `CONFIG_PROC_CHILDREN`, and with `hidepid` we may not
//! read it for a process that is not dumpable, such as a reaper. Then we read the parent of every process that we can see.
//!
//! `/proc` may belong to an outer pid namespace (`unshare --pid` without `--mount-proc`) and number processes differently.
//! `NSpid` in `/proc/PID/status` has both numbers.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::OnceLock;

use super::processes;

/// A process of the tree.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Member {
    /// As system calls know it.
    pub pid: i32,
    /// As `/proc` knows it.
    number: i32,
}

impl Member {
    /// The calling process.
    pub fn own() -> Self {
        let link = std::fs::read_link("/proc/self").ok();
        let number = link.and_then(|link| link.to_str()?.parse().ok()).unwrap_or_else(processes::own_pid);
        Self { pid: processes::own_pid(), number }
    }

    /// The path of one of its files in `/proc`.
    pub fn file(self, name: &str) -> String {
        format!("/proc/{}/{name}", self.number)
    }

    /// Whether it has ended and only waits to be reaped. A process whose state is hidden counts as alive.
    pub fn is_dead(self) -> bool {
        stat(self.number).is_some_and(|(state, _)| matches!(state, 'Z' | 'X'))
    }
}

/// Reads every part of the tree at most once, so it is good for one moment only.
#[derive(Default)]
pub struct ProcessTable {
    /// The children of every process that we can see. Only read when a process hides its own.
    by_parent: OnceCell<HashMap<i32, Vec<i32>>>,
}

impl ProcessTable {
    /// Zombies included.
    pub fn children_of(&self, parent: Member) -> Vec<Member> {
        let numbers = listed_children(parent).unwrap_or_else(|| {
            // A process that has just ended has no children. One that is there hides them.
            if processes::exists(parent.pid) { self.seen_children(parent.number) } else { Vec::new() }
        });
        numbers.into_iter().filter_map(member).collect()
    }

    fn seen_children(&self, parent: i32) -> Vec<i32> {
        let by_parent = self.by_parent.get_or_init(|| {
            let mut by_parent: HashMap<i32, Vec<i32>> = HashMap::new();
            let entries = std::fs::read_dir("/proc").into_iter().flatten();
            let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
            for (number, parent) in numbers.filter_map(|number| Some((number, stat(number)?.1))) {
                by_parent.entry(parent).or_default().push(number);
            }
            by_parent
        });
        by_parent.get(&parent).cloned().unwrap_or_default()
    }
}

/// What the `children` files of its threads say. `None` if they cannot be read.
fn listed_children(parent: Member) -> Option<Vec<i32>> {
    let mut numbers = Vec::new();
    for thread in std::fs::read_dir(parent.file("task")).ok()? {
        let path = thread.ok()?.path().join("children");
        match std::fs::read_to_string(&path) {
            Ok(text) => numbers.extend(text.split_whitespace().filter_map(|word| word.parse::<i32>().ok())),
            // A thread that has just ended took its directory along.
            Err(_) if !path.parent()?.exists() => {}
            Err(_) => return None,
        }
    }
    Some(numbers)
}

/// Translates a number of `/proc`. `None` if the process is gone.
fn member(number: i32) -> Option<Member> {
    let pid = if our_depth() <= 1 { number } else { *namespace_pids(number)?.get(our_depth() - 1)? };
    Some(Member { pid, number })
}

/// The number of pid namespaces from the one of `/proc` down to ours: 1 if they are the same.
fn our_depth() -> usize {
    static DEPTH: OnceLock<usize> = OnceLock::new();
    *DEPTH.get_or_init(|| namespace_pids(Member::own().number).map_or(1, |pids| pids.len()))
}

/// The pids of a process in all these namespaces, the outermost first.
fn namespace_pids(number: i32) -> Option<Vec<i32>> {
    let status = std::fs::read(format!("/proc/{number}/status")).ok()?;
    let status = String::from_utf8_lossy(&status);
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    Some(line.split_whitespace().filter_map(|word| word.parse().ok()).collect())
}

/// State and parent. The name in parentheses may contain anything, so we count fields from the last `)`.
fn stat(number: i32) -> Option<(char, i32)> {
    let stat = std::fs::read(format!("/proc/{number}/stat")).ok()?;
    let after = stat.iter().rposition(|byte| *byte == b')')? + 2;
    let mut fields = std::str::from_utf8(stat.get(after..)?).ok()?.split(' ');
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_to_read_the_tree_find_the_same_children() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let (table, pid) = (ProcessTable::default(), i32::try_from(child.id()).unwrap());
        let listed = listed_children(Member::own()).unwrap();
        let seen = table.seen_children(Member::own().number);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(listed.contains(&pid) && seen.contains(&pid), "{listed:?} {seen:?}");
        assert_eq!(table.children_of(Member { pid, number: pid }), [], "a process that is gone has no children");
    }
}
