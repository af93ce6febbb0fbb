use std::io;
use std::os::fd::OwnedFd;

use tokio::io::unix::AsyncFd;

/// Registers a descriptor with the runtime, which then waits on it for us.
pub fn async_fd(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: the registration owns the descriptor, and nothing here hands it out to be closed or replaced before the
    // registration is dropped.
    Ok(unsafe { AsyncFd::register(descriptor) }?)
}
