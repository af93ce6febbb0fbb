use std::io;
use std::os::fd::OwnedFd;

use tokio::io::unix::AsyncFd;

/// A descriptor that the runtime waits on for us.
pub fn watched(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: the registration owns the descriptor, and nothing here hands it out to be closed or replaced before the
    // registration is dropped.
    Ok(unsafe { AsyncFd::register(descriptor) }?)
}
