//! Finds out whether a command waits for input: whether one of its processes is blocked reading the file that is the
//! command's stdin or terminal, or polls that file without a timeout.
//!
//! `/proc/PID/syscall` tells. Where it cannot be read, and for system calls that do not show their descriptors (such as
//! `epoll_wait`), the answer is no.

use std::os::unix::fs::{FileExt, MetadataExt};

use super::descendants;
use super::process_table::Member;

/// The file that a command reads its input from, identified whatever descriptor a process has for it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct InputFile {
    device: u64,
    inode: u64,
    special: u64,
}

impl InputFile {
    pub fn at(path: &str) -> Option<Self> {
        let metadata = std::fs::metadata(path).ok()?;
        Some(Self { device: metadata.dev(), inode: metadata.ino(), special: metadata.rdev() })
    }

    /// Whether a descendant of the calling process waits for this file.
    pub fn is_awaited(self) -> bool {
        descendants::living().into_iter().any(|member| {
            awaited_descriptor(member)
                .is_some_and(|number| Self::at(&member.file(&format!("fd/{number}"))) == Some(self))
        })
    }
}

/// The descriptor that a process is blocked on, if there is exactly one and the process set no timeout.
fn awaited_descriptor(member: Member) -> Option<i64> {
    let text = std::fs::read_to_string(member.file("syscall")).ok()?;
    let mut fields = text.split_whitespace();
    let call: i64 = fields.next()?.parse().ok()?;
    let arguments: Vec<u64> =
        fields.filter_map(|field| u64::from_str_radix(field.strip_prefix("0x")?, 16).ok()).collect();
    let argument = |index: usize| arguments.get(index).copied();
    if call == libc::SYS_read {
        return i64::try_from(argument(0)?).ok();
    }
    // `select` shows only how many descriptors it looks at. If it is one, it is descriptor 0.
    if call == libc::SYS_pselect6 || is_select(call) {
        return (argument(0)? == 1 && argument(1)? != 0 && argument(4)? == 0).then_some(0);
    }
    let endless = if call == libc::SYS_ppoll {
        argument(2)? == 0
    } else if is_poll(call) {
        argument(2)? & 0xffff_ffff == 0xffff_ffff
    } else {
        return None;
    };
    (endless && argument(1)? == 1).then(|| polled_descriptor(member, argument(0)?)).flatten()
}

#[cfg(target_arch = "x86_64")]
fn is_select(call: i64) -> bool {
    call == libc::SYS_select
}

#[cfg(target_arch = "x86_64")]
fn is_poll(call: i64) -> bool {
    call == libc::SYS_poll
}

#[cfg(not(target_arch = "x86_64"))]
fn is_select(_: i64) -> bool {
    false
}

#[cfg(not(target_arch = "x86_64"))]
fn is_poll(_: i64) -> bool {
    false
}

/// The first field of the `pollfd` at this address in the process.
fn polled_descriptor(member: Member, address: u64) -> Option<i64> {
    let mut bytes = [0; 4];
    std::fs::File::open(member.file("mem")).ok()?.read_exact_at(&mut bytes, address).ok()?;
    Some(i64::from(i32::from_ne_bytes(bytes)))
}
