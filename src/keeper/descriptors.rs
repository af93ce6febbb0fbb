//! Waiting for descriptors and closing them.

use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Waits until one of the descriptors is ready or has hung up, for `millis` at most if given. Returns what happened to
/// each.
pub fn wait_for(descriptors: &[(BorrowedFd<'_>, PollFlags)], millis: Option<i64>) -> Vec<PollFlags> {
    let mut polled: Vec<PollFd<'_>> =
        descriptors.iter().map(|(descriptor, events)| PollFd::from_borrowed_fd(*descriptor, *events)).collect();
    let limit = millis.map(|millis| Timespec { tv_sec: millis / 1000, tv_nsec: millis % 1000 * 1_000_000 });
    // An interrupted poll reports nothing as ready, and the caller's loop calls us again.
    let _ = poll(&mut polled, limit.as_ref());
    polled.iter().map(PollFd::revents).collect()
}

/// Closes every descriptor from `first` on.
pub fn close_from(first: i32) {
    // SAFETY: close_range takes integers; the caller owns no descriptor above `first` that it still uses.
    if unsafe { libc::syscall(libc::SYS_close_range, first, i32::MAX, 0) } == 0 {
        return;
    }
    // Linux before 5.9, or a filter that does not know the call.
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else { return };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    for number in numbers.filter(|number| *number >= first).collect::<Vec<_>>() {
        // SAFETY: as above. The directory's own descriptor is among the numbers, and has been closed already.
        unsafe { libc::close(number) };
    }
}

/// Closes a forked child's copy of a descriptor, although the child only has a reference to its owner. The child must end
/// by [`super::processes::exit`].
pub fn close(descriptor: &OwnedFd) {
    // SAFETY: the caller's copy of the owner is never used or dropped again, because its process ends by `_exit`.
    unsafe { libc::close(descriptor.as_raw_fd()) };
}
