//! Whether a command sits waiting for input: some process of its tree is blocked in a system call that reads, or waits
//! without a limit for, the very file that is the command's stdin or terminal. Read from `/proc/PID/syscall`; where that
//! cannot be read, and for calls that do not show their descriptors, no claim is made.

use std::os::unix::fs::{FileExt, MetadataExt};

use super::descendants;

/// Which file the input is, however a process came to hold it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Input {
    device: u64,
    inode: u64,
    special: u64,
}

impl Input {
    pub fn of(path: &str) -> Option<Self> {
        let metadata = std::fs::metadata(path).ok()?;
        Some(Self { device: metadata.dev(), inode: metadata.ino(), special: metadata.rdev() })
    }

    pub fn is_awaited(self) -> bool {
        descendants::living().into_iter().any(|pid| {
            awaited_descriptor(pid).is_some_and(|number| Self::of(&format!("/proc/{pid}/fd/{number}")) == Some(self))
        })
    }
}

/// The one descriptor that a process is blocked on, if it is blocked on one without a time limit.
fn awaited_descriptor(pid: i32) -> Option<i64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/syscall")).ok()?;
    let mut fields = text.split_whitespace();
    let call: i64 = fields.next()?.parse().ok()?;
    let arguments: Vec<u64> =
        fields.filter_map(|field| u64::from_str_radix(field.strip_prefix("0x")?, 16).ok()).collect();
    let argument = |index: usize| arguments.get(index).copied();
    if call == libc::SYS_read {
        return i64::try_from(argument(0)?).ok();
    }
    // Only the lowest descriptor is watched, which is where a terminal or stdin is.
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
    (endless && argument(1)? == 1).then(|| polled_descriptor(pid, argument(0)?)).flatten()
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

/// The first field of the `pollfd` at that address of the process.
fn polled_descriptor(pid: i32, address: u64) -> Option<i64> {
    let mut bytes = [0; 4];
    std::fs::File::open(format!("/proc/{pid}/mem")).ok()?.read_exact_at(&mut bytes, address).ok()?;
    Some(i64::from(i32::from_ne_bytes(bytes)))
}
