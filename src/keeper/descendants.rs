//! Who descends from this process. Read from `/proc`, because the kernel keeps the tree and we only ask.

use super::sys::{self, Waited};

/// Every living descendant of the calling process, zombies left out, parents before their children.
pub fn living() -> Vec<i32> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let parents = all_processes();
    let mut found = Vec::new();
    let mut next = vec![own];
    while let Some(parent) = next.pop() {
        for process in parents.iter().filter(|process| process.parent == parent) {
            next.push(process.pid);
            if !process.dead {
                found.push(process.pid);
            }
        }
    }
    found.sort_unstable();
    found
}

/// The direct children of the calling process, zombies left out.
pub fn children() -> Vec<i32> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    all_processes().iter().filter(|process| process.parent == own && !process.dead).map(|process| process.pid).collect()
}

/// Kills until no child is left. Orphans come to us as their sub-reaper, so what forks while we look is met in the next
/// round.
pub fn end_all() {
    loop {
        for pid in living() {
            sys::kill(pid, libc::SIGKILL);
        }
        loop {
            match sys::wait_any() {
                Waited::Ended { .. } => {}
                Waited::NoneYet => break,
                Waited::NoChildren => return,
            }
        }
        sys::wait_for(&[], Some(1));
    }
}

struct Process {
    pid: i32,
    parent: i32,
    dead: bool,
}

fn all_processes() -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).filter_map(process).collect()
}

/// From `/proc/PID/stat`: the name in parentheses may contain anything, so the fields are counted from the last `)`.
fn process(pid: i32) -> Option<Process> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let after = stat.iter().rposition(|byte| *byte == b')')? + 2;
    let text = std::str::from_utf8(stat.get(after..)?).ok()?;
    let mut fields = text.split(' ');
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    Some(Process { pid, parent, dead: matches!(state, "Z" | "X") })
}
