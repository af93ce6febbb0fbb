//! How many files this process may hold open. A server of many clients needs more than is customary; its commands keep
//! what the person gave them, because some programs do something for every descriptor they may have.

use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The soft limit before it was raised.
static BEFORE: OnceLock<Option<u64>> = OnceLock::new();

/// Every session holds a few descriptors; the customary 1,024 would end long before the limit of sessions.
pub fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    BEFORE.get_or_init(|| limit.current);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
        tracing::debug!(%error, "the limit of open files stays as it is");
    }
}

/// What a process of ours has to go back to, if the limit was raised and there was one.
pub fn descriptor_limit_before() -> Option<u64> {
    BEFORE.get().copied().flatten()
}
