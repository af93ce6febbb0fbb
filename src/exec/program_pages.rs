//! Gives back the pages of our own program when there is nothing to do.
//!
//! The kernel maps pages of the program around every place that is used, and after a while nearly all of it is mapped. An idle
//! server needs none of them. What the next call uses comes back from the kernel's cache of the file.

use std::ops::Range;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// By then a client has asked for everything that it asks for at its start. Most of the code that ran will not run again.
const AFTER_THE_START: Duration = Duration::from_secs(1);
/// A server that has had no call for so long is idle. To get the pages back takes a third of a millisecond, so it does not do this
/// between calls that follow each other. After a pause of seconds nobody notices.
const QUIET: Duration = Duration::from_secs(2);

static WORK: AtomicU64 = AtomicU64::new(0);
static IS_WATCHED: AtomicBool = AtomicBool::new(false);

/// The server has started.
pub fn started() {
    tokio::spawn(async {
        tokio::time::sleep(AFTER_THE_START).await;
        let _ = tokio::task::spawn_blocking(give_back).await;
    });
}

/// The server has answered a call. The pages are given back once it has been quiet for a while.
pub fn worked() {
    WORK.fetch_add(1, Ordering::Relaxed);
    if IS_WATCHED.swap(true, Ordering::AcqRel) {
        return;
    }
    tokio::spawn(async {
        loop {
            let before = WORK.load(Ordering::Relaxed);
            tokio::time::sleep(QUIET).await;
            if WORK.load(Ordering::Relaxed) == before {
                break;
            }
        }
        IS_WATCHED.store(false, Ordering::Release);
        let _ = tokio::task::spawn_blocking(give_back).await;
    });
}

fn give_back() {
    static PARTS: LazyLock<Vec<Range<usize>>> =
        LazyLock::new(|| std::fs::read_to_string("/proc/self/smaps").map_or(Vec::new(), |maps| unchanged_parts(&maps)));
    for range in &*PARTS {
        // SAFETY: the range is a mapping of our program's file that nobody can write and that has no page of its own, so the
        // file still has every byte of it.
        unsafe { libc::madvise(range.start as *mut libc::c_void, range.len(), libc::MADV_DONTNEED) };
    }
    // SAFETY: has no preconditions.
    unsafe { libc::malloc_trim(0) };
}

/// The mappings of the program itself that are read-only and exactly as in its file. What was relocated at the start is not.
fn unchanged_parts(maps: &str) -> Vec<Range<usize>> {
    let Some(program) = maps.lines().find_map(|line| Some(Mapping::parse(line)?.file)) else { return Vec::new() };
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut current = None;
    for line in maps.lines() {
        if let Some(mapping) = Mapping::parse(line) {
            let fits = mapping.file == program && !mapping.rights.contains('w') && mapping.rights.ends_with('p');
            current = fits.then_some(mapping.range);
        } else if let Some(text) = line.strip_prefix("Anonymous:")
            && let Some(range) = current.take().filter(|_| text.trim() == "0 kB")
        {
            found.push(range);
        }
    }
    found
}

struct Mapping<'a> {
    range: Range<usize>,
    rights: &'a str,
    /// Device, inode and path.
    file: (&'a str, &'a str, &'a str),
}

impl<'a> Mapping<'a> {
    /// `START-END RIGHTS OFFSET DEVICE INODE PATH`. `None` for the lines about a mapping, and for memory without a file.
    fn parse(line: &'a str) -> Option<Self> {
        let mut fields = line.split_whitespace();
        let (start, end) = fields.next()?.split_once('-')?;
        let range = usize::from_str_radix(start, 16).ok()?..usize::from_str_radix(end, 16).ok()?;
        let rights = fields.next()?;
        let _offset = fields.next()?;
        let (device, inode) = (fields.next()?, fields.next()?);
        let path = fields.next().filter(|path| path.starts_with('/'))?;
        Some(Self { range, rights, file: (device, inode, path) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unchanged_parts_of_the_program_are_given_back() {
        let maps = "\
55e0-55f0 r--p 0000 08:01 7 /usr/bin/testudo
Size: 4 kB
Anonymous: 0 kB
55f0-5600 r-xp 1000 08:01 7 /usr/bin/testudo (deleted)
Anonymous: 0 kB
5600-5610 r--p 2000 08:01 7 /usr/bin/testudo
Anonymous: 12 kB
5610-5620 rw-p 3000 08:01 7 /usr/bin/testudo
Anonymous: 0 kB
5620-5630 rw-p 0000 00:00 0 [heap]
Anonymous: 0 kB
7000-7100 r-xp 0000 08:01 9 /lib/libc.so.6
Anonymous: 0 kB
";
        assert_eq!(unchanged_parts(maps), [0x55e0..0x55f0, 0x55f0..0x5600]);
    }

    #[test]
    fn the_program_runs_on() {
        give_back();
        assert!(!unchanged_parts(&std::fs::read_to_string("/proc/self/smaps").unwrap()).is_empty());
    }
}
