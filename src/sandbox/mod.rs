//! The restrictions that the kernel enforces on a session's commands. No async and no logging, because most of it runs in
//! the guard and the keeper.
//!
//! 1. [`settings`] is what a person configures. The server turns it into a [`profile`]: plain data, one for each keeper.
//! 2. The guard creates the [`namespaces`] and stays outside of them.
//! 3. The keeper restricts itself once, before it starts a command. [`mod@restrict`] is the list of the steps: [`limits`],
//!    [`mounts`], [`capabilities`], [`landlock`], [`seccomp`]. When a step fails, the keeper reports it and exits.
//! 4. [`supervise`] does for commands what a filter cannot judge, such as connecting to a Unix socket.
//! 5. [`support`] tests from inside whether the promises hold, and [`earlier_level`] remembers what was found.
//!
//! `docs/sandbox.md` lists the promises, and the gaps of each level.

pub mod caches;
mod capabilities;
pub mod cgroup;
pub mod cleaning;
pub mod draft;
mod earlier_level;
pub mod explain;
mod failure;
pub mod home;
mod landlock;
pub mod limits;
mod mount_table;
mod mounts;
pub mod namespaces;
pub mod obstacles;
pub mod own_network;
pub mod profile;
mod restrict;
mod seccomp;
pub mod secrets;
pub mod settings;
pub mod supervise;
pub mod support;

pub use self::landlock::{
    keep_abstract_sockets_inside, shortcoming as landlock_shortcoming, version as landlock_version,
};
pub use self::mounts::{build as build_file_system, prepare_covers, put_up, read_only};
pub use earlier_level::{EarlierLevel, Tested};
pub use failure::{Doing, Failure};
pub use profile::{Network, Profile};
pub use restrict::{Restricted, restrict, restrict_supervisor};
pub use settings::{Level, Mode, Settings};
