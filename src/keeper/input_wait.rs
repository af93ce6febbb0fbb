//! Finds out whether a command waits for input: whether a thread of one of its processes is blocked on the file that is the
//! command's stdin or terminal.
//!
//! `/proc/PID/task/TID/syscall` tells what a thread is blocked in: `read`, or one of `poll`, `select` and `epoll_wait` with
//! that file among others. A wait with a timeout counts only on a terminal in raw mode: a full-screen program such as `top`
//! waits for a key and redraws when none comes. Where `/proc` cannot be read, the answer is no.

use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};

use rustix::termios::{LocalModes, tcgetattr};

use super::descendants;
use super::process_table::Member;

/// The file that a command reads its input from, identified whatever descriptor a process has for it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct InputFile {
    device: u64,
    inode: u64,
    special: u64,
}

/// What a thread is blocked on.
#[derive(Debug, Default, Eq, PartialEq)]
struct Blocked {
    descriptors: Vec<i32>,
    /// It set no timeout.
    endless: bool,
}

/// More descriptors than a program that talks to a person waits for.
const MOST_DESCRIPTORS: usize = 256;
/// `/dev/tty`, which is the controlling terminal of the process that opened it.
const CONTROLLING_TERMINAL: u64 = libc::makedev(5, 0);

impl InputFile {
    pub fn at(path: &str) -> Option<Self> {
        let metadata = std::fs::metadata(path).ok()?;
        Some(Self { device: metadata.dev(), inode: metadata.ino(), special: metadata.rdev() })
    }

    /// Whether a descendant of the calling process waits for this file: then how often the waiting threads have gone to
    /// sleep so far. The number grows when they wake up and wait again.
    pub fn awaited(self) -> Option<u64> {
        let threads =
            descendants::living().into_iter().flat_map(|member| threads(member).map(move |thread| (member, thread)));
        let waiting = threads.filter(|(member, thread)| self.is_awaited_by(*member, thread));
        let sleeps: Vec<u64> = waiting.map(|(_, thread)| sleeps(&thread)).collect();
        (!sleeps.is_empty()).then(|| sleeps.iter().sum())
    }

    fn is_awaited_by(self, member: Member, thread: &str) -> bool {
        let Some(blocked) = blocked(member, thread) else { return false };
        blocked.descriptors.iter().any(|number| {
            let path = member.file(&format!("fd/{number}"));
            Self::at(&path).is_some_and(|file| self.is(file)) && (blocked.endless || is_raw_terminal(&path))
        })
    }

    fn is(self, file: Self) -> bool {
        file == self || (self.special != 0 && file.special == CONTROLLING_TERMINAL)
    }
}

/// The directories of a process's threads.
fn threads(member: Member) -> impl Iterator<Item = String> {
    let entries = std::fs::read_dir(member.file("task")).into_iter().flatten().flatten();
    entries.map(move |entry| member.file(&format!("task/{}", entry.file_name().to_string_lossy())))
}

fn sleeps(thread: &str) -> u64 {
    let status = std::fs::read_to_string(format!("{thread}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    line.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
}

fn blocked(member: Member, thread: &str) -> Option<Blocked> {
    let text = std::fs::read_to_string(format!("{thread}/syscall")).ok()?;
    let mut fields = text.split_whitespace();
    let call: i64 = fields.next()?.parse().ok()?;
    let arguments: Vec<u64> =
        fields.filter_map(|field| u64::from_str_radix(field.strip_prefix("0x")?, 16).ok()).collect();
    let argument = |index: usize| arguments.get(index).copied();
    let no_milliseconds = |index: usize| argument(index).is_some_and(|value| value & 0xffff_ffff == 0xffff_ffff);
    let no_pointer = |index: usize| argument(index) == Some(0);
    let epoll = || epoll_descriptors(member, argument(0)?);
    let poll = || poll_descriptors(member, argument(0)?, argument(1)?);
    let (descriptors, endless) = match Call::of(call)? {
        Call::Read => (vec![i32::try_from(argument(0)?).ok()?], true),
        Call::Select => (select_descriptors(member, argument(0)?, argument(1)?)?, no_pointer(4)),
        Call::Poll => (poll()?, no_milliseconds(2)),
        Call::PollTimespec => (poll()?, no_pointer(2)),
        Call::Epoll => (epoll()?, no_milliseconds(3)),
        Call::EpollTimespec => (epoll()?, no_pointer(3)),
    };
    Some(Blocked { descriptors, endless })
}

/// System calls that wait for input, by how they say so.
enum Call {
    Read,
    Select,
    Poll,
    PollTimespec,
    Epoll,
    EpollTimespec,
}

impl Call {
    fn of(number: i64) -> Option<Self> {
        match number {
            libc::SYS_read | libc::SYS_readv => Some(Self::Read),
            libc::SYS_pselect6 => Some(Self::Select),
            libc::SYS_ppoll => Some(Self::PollTimespec),
            libc::SYS_epoll_pwait => Some(Self::Epoll),
            libc::SYS_epoll_pwait2 => Some(Self::EpollTimespec),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_select => Some(Self::Select),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_poll => Some(Self::Poll),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_epoll_wait => Some(Self::Epoll),
            _ => None,
        }
    }
}

/// The descriptors whose bits are set in the `fd_set` at this address.
fn select_descriptors(member: Member, count: u64, address: u64) -> Option<Vec<i32>> {
    let count = usize::try_from(count).ok()?.min(MOST_DESCRIPTORS);
    let bits = memory(member, address, count.div_ceil(8))?;
    let set = (0..count).filter(|number| bits[number / 8] & (1 << (number % 8)) != 0);
    Some(set.filter_map(|number| i32::try_from(number).ok()).collect())
}

/// The descriptors in the array of `pollfd` at this address from which input is wanted.
fn poll_descriptors(member: Member, address: u64, count: u64) -> Option<Vec<i32>> {
    const SIZE: usize = size_of::<libc::pollfd>();
    let count = usize::try_from(count).ok()?.min(MOST_DESCRIPTORS);
    let entries = memory(member, address, count * SIZE)?;
    let entries = entries.chunks_exact(SIZE).map(|entry| {
        let descriptor = i32::from_ne_bytes([entry[0], entry[1], entry[2], entry[3]]);
        (descriptor, i16::from_ne_bytes([entry[4], entry[5]]))
    });
    Some(entries.filter(|(_, events)| events & libc::POLLIN != 0).map(|(descriptor, _)| descriptor).collect())
}

/// The descriptors that an epoll descriptor watches for input. The kernel lists them, with their events in hexadecimal.
fn epoll_descriptors(member: Member, descriptor: u64) -> Option<Vec<i32>> {
    let text = std::fs::read_to_string(member.file(&format!("fdinfo/{descriptor}"))).ok()?;
    let watched = text.lines().filter_map(|line| {
        let mut words = line.strip_prefix("tfd:")?.split_whitespace();
        let (number, events) = (words.next()?.parse().ok()?, words.nth(1)?);
        (u32::from_str_radix(events, 16).ok()? & libc::EPOLLIN.cast_unsigned() != 0).then_some(number)
    });
    Some(watched.take(MOST_DESCRIPTORS).collect())
}

fn memory(member: Member, address: u64, length: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; length];
    std::fs::File::open(member.file("mem")).ok()?.read_exact_at(&mut bytes, address).ok()?;
    Some(bytes)
}

/// Whether it is a terminal whose program reads single keys, as full-screen programs do.
fn is_raw_terminal(path: &str) -> bool {
    let open = std::fs::File::options().read(true).custom_flags(libc::O_NOCTTY | libc::O_NONBLOCK).open(path);
    open.is_ok_and(|file| tcgetattr(file.as_fd()).is_ok_and(|modes| !modes.local_modes.contains(LocalModes::ICANON)))
}
