//! How many descriptors this process may have.

use rustix::process::{Resource, getrlimit, setrlimit};

/// A client that listens costs two: its connection and ours to the place. The usual limit of 1024 is for programs that pass
/// descriptors to `select`; any program may raise its own to what the system allows.
pub fn allow_all() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::warn!("the limit of open files stays as it is: {error}");
    }
}
