//! The limit of open files. A server with many clients needs more than the usual 1,024. Its commands keep the limit that
//! the person set, because some programs loop over every descriptor they may have.

use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The soft limit before it was raised.
static BEFORE: OnceLock<Option<u64>> = OnceLock::new();

/// Every session holds a few descriptors, so the usual 1,024 run out long before the limit of sessions.
pub fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    BEFORE.get_or_init(|| limit.current);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
        tracing::debug!(%error, "the limit of open files stays as it is");
    }
}

/// How many descriptors this process may have.
pub fn descriptor_limit() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// How many descriptors this process may still open, about. The kernel gives every new one the lowest free number, so `newest`
/// tells how many there are.
pub fn descriptors_left(newest: BorrowedFd<'_>) -> u64 {
    descriptor_limit().saturating_sub(u64::try_from(newest.as_raw_fd()).unwrap_or_default())
}

/// The soft limit that commands get, if the server has raised its own.
pub fn descriptor_limit_before() -> Option<u64> {
    BEFORE.get().copied().flatten()
}
