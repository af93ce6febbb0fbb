//! What the kernel lets a session's commands do. No async, no logging: the keeper runs this on itself, once, before it
//! starts anything.
//!
//! 1. [`settings`] is what a person may write; [`profile`] is what one keeper gets: plain data, made in the server.
//! 2. [`namespaces`] are made by the guard, which stays outside of them.
//! 3. [`mod@restrict`] is the straight list of steps inside: [`limits`], [`mounts`], [`capabilities`], [`landlock`],
//!    [`seccomp`]. Each failure is an error of its own, and nothing runs after one.
//! 4. [`support`] tries from inside whether the promises hold.
//!
//! `docs/sandbox.md` has the promises, and the gaps of each level.

mod beneath;
pub mod caches;
mod capabilities;
pub mod cgroup;
pub mod explain;
mod failure;
pub mod git_config;
mod landlock;
pub mod limits;
mod mounts;
pub mod namespaces;
pub mod obstacles;
pub mod profile;
mod restrict;
mod seccomp;
pub mod secrets;
pub mod sentry;
pub mod settings;
mod snapshot;
pub mod support;
pub mod walk;

pub use self::landlock::version as landlock_version;
pub use self::mounts::{hide, read_only};
pub use failure::{Doing, Failure};
pub use profile::{Network, Profile};
pub use restrict::restrict;
pub use settings::{Level, Mode, Settings};
