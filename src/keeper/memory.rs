//! How much memory a session uses. Memory that several processes share (memory files, shared mappings, `/dev/shm`) counts
//! once, whether a process has it mapped or only holds it open.
//!
//! To look at every shared object takes long. The kernel tells how much shared memory the whole machine uses, and that is
//! read in microseconds. As long as the session would be within its limit even if all of it were its own, we look no
//! further.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;

use super::left_segments;
use super::process_table::Member;
use crate::sandbox::{Level, Profile};

/// What a session uses.
#[derive(Debug, Default)]
pub struct Usage {
    pub total: u64,
    pub largest: Option<Hog>,
}

/// A process that uses much memory.
#[derive(Debug)]
pub struct Hog {
    pub bytes: u64,
    pub process: Member,
    /// The reaper of its command.
    pub reaper: Member,
}

/// Measures the memory of these trees. Looks at shared memory only if the total could exceed the profile's limit.
pub fn measure(trees: &[(Member, Vec<Member>)], profile: &Profile) -> Usage {
    let members = trees.iter().flat_map(|(reaper, tree)| tree.iter().map(move |process| (*reaper, *process)));
    let mut hogs: Vec<Hog> =
        members.map(|(reaper, process)| Hog { bytes: private(process), process, reaper }).collect();
    let mut total = hogs.iter().map(|hog| hog.bytes).sum::<u64>();
    if total + shared_by_all() > profile.limits.memory {
        let mut shared = Shared::default();
        hogs.iter_mut().for_each(|hog| hog.bytes += shared.add(hog.process));
        total += shared.total();
        if profile.level == Level::Full {
            total += session_tmpfs() + left_segments::left().iter().map(|segment| segment.bytes).sum::<u64>();
        }
    }
    Usage { total, largest: hogs.into_iter().max_by_key(|hog| hog.bytes) }
}

/// The resident bytes that only this process uses.
fn private(member: Member) -> u64 {
    let text = std::fs::read_to_string(member.file("statm")).unwrap_or_default();
    let mut pages = text.split(' ').skip(1).map(|field| field.parse::<u64>().unwrap_or(0));
    let (resident, shared) = (pages.next().unwrap_or(0), pages.next().unwrap_or(0));
    resident.saturating_sub(shared) * rustix::param::page_size() as u64
}

/// The shared memory of the whole machine, `tmpfs` included.
fn shared_by_all() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    kilobytes(&text, "Shmem:").unwrap_or(0)
}

/// The shared memory objects that a session holds.
#[derive(Default)]
struct Shared {
    /// Objects that a process has open, by inode: all their pages, mapped or not.
    open: HashMap<u64, u64>,
    /// Objects that are only mapped: each process's proportional share of the mapped pages.
    mapped: HashMap<u64, u64>,
}

impl Shared {
    /// Adds what a process holds. Returns the bytes of it.
    fn add(&mut self, member: Member) -> u64 {
        let Some(device) = memory_device() else { return 0 };
        let opened = open_objects(member, device);
        let mapped = mapped_objects(member, device);
        let own = opened.values().sum::<u64>()
            + mapped.iter().filter(|(inode, _)| !opened.contains_key(inode)).map(|(_, bytes)| bytes).sum::<u64>();
        self.open.extend(opened);
        for (inode, bytes) in mapped {
            *self.mapped.entry(inode).or_default() += bytes;
        }
        own
    }

    fn total(&self) -> u64 {
        let only_mapped = self.mapped.iter().filter(|(inode, _)| !self.open.contains_key(inode));
        self.open.values().sum::<u64>() + only_mapped.map(|(_, bytes)| bytes).sum::<u64>()
    }
}

/// The kernel's own file system for memory files, shared mappings and System V segments.
fn memory_device() -> Option<u64> {
    let file = rustix::fs::memfd_create(c"device", rustix::fs::MemfdFlags::CLOEXEC).ok()?;
    Some(rustix::fs::fstat(&file).ok()?.st_dev)
}

fn open_objects(member: Member, device: u64) -> HashMap<u64, u64> {
    const BLOCK: u64 = 512;
    let entries = std::fs::read_dir(member.file("fd")).into_iter().flatten().flatten();
    let files = entries.filter_map(|entry| std::fs::metadata(entry.path()).ok()).filter(|file| file.dev() == device);
    files.map(|file| (file.ino(), file.blocks() * BLOCK)).collect()
}

fn mapped_objects(member: Member, device: u64) -> HashMap<u64, u64> {
    let status = std::fs::read(member.file("status")).unwrap_or_default();
    if kilobytes(&String::from_utf8_lossy(&status), "RssShmem:").unwrap_or(0) == 0 {
        return HashMap::new();
    }
    let maps = std::fs::read(member.file("smaps")).unwrap_or_default();
    objects_in(&String::from_utf8_lossy(&maps), device)
}

/// Sums up the proportional shares (`Pss`) of each object of that device, from the text of `smaps`.
fn objects_in(maps: &str, device: u64) -> HashMap<u64, u64> {
    let mut objects: HashMap<u64, u64> = HashMap::new();
    let mut current = None;
    for line in maps.lines() {
        if let Some(bytes) = kilobytes(line, "Pss:") {
            current.into_iter().for_each(|inode| *objects.entry(inode).or_default() += bytes);
        } else if let Some((on, inode)) = mapped_file(line) {
            current = Some(inode).filter(|_| on == device);
        }
    }
    objects
}

/// Device and inode in the first line of a mapping, like `7f00-7fff rw-s 00000000 00:01 2048   /memfd:x (deleted)`.
fn mapped_file(line: &str) -> Option<(u64, u64)> {
    let mut fields = line.split_whitespace().skip(3);
    let (major, minor) = fields.next()?.split_once(':')?;
    let number = |text: &str| u32::from_str_radix(text, 16).ok();
    Some((libc::makedev(number(major)?, number(minor)?), fields.next()?.parse().ok()?))
}

/// The files in the session's own `/dev/shm`, which no process needs to have open. Only level `full` has one; at level
/// `landlock` commands cannot write to `/dev/shm`.
fn session_tmpfs() -> u64 {
    rustix::fs::statvfs("/dev/shm").map_or(0, |stat| (stat.f_blocks - stat.f_bfree) * stat.f_frsize)
}

/// The number after a name at the beginning of a line, in bytes.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(value.split_whitespace().next()?.parse::<u64>().ok()? << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mapped_objects_are_summed_up_by_inode() {
        let maps = "\
7f10-7f20 rw-s 00000000 00:01 2048  /memfd:x (deleted)
Size:               1024 kB
Pss:                 512 kB
Pss_Dirty:            12 kB
7f20-7f30 rw-p 00000000 00:00 0
Pss:                  99 kB
7f30-7f40 rw-s 00000000 00:01 2048  /memfd:x (deleted)
Pss:                 256 kB
7f40-7f50 r-xp 00000000 fe:00 2048  /usr/bin/bash
Pss:                   7 kB
7f50-7f60 rw-s 00000000 00:01 4096  /dev/zero (deleted)
Pss:                   3 kB
";
        let objects = objects_in(maps, libc::makedev(0, 1));
        assert_eq!(objects, HashMap::from([(2048, 768 << 10), (4096, 3 << 10)]));
    }
}
