use std::os::fd::OwnedFd;

use super::failure::{Doing, Failure};
use super::{Level, Network, Profile, capabilities, landlock, limits, seccomp};

/// Gives up, for good, every right that the profile does not grant. The keeper calls this once, before it starts a
/// command, in the file system that the guard has built. The order matters: each step needs rights that a later step takes
/// away. If there is a supervisor, it has to get the descriptor that this returns, or the calls that it should do fail.
pub fn restrict(profile: &Profile, supervisor: bool) -> Result<Option<OwnedFd>, Failure> {
    if profile.level == Level::None {
        return without_sandbox(profile);
    }
    // First, so that the steps below are limited too.
    limits::apply(profile)?;
    if profile.level == Level::Full && profile.network == Network::Loopback {
        // Needs the capabilities of our user namespace.
        super::namespaces::raise_loopback().doing(|| "bring up the session's loopback interface".to_owned())?;
    }
    // From here on the keeper cannot mount or create device nodes.
    capabilities::drop(profile.level)?;
    // No set-id program can give the capabilities back. Landlock and seccomp require this too.
    rustix::thread::set_no_new_privs(true).doing(|| "set no_new_privs".to_owned())?;
    // Commands run as the same user. Without this they could read and write the keeper's memory through /proc.
    not_dumpable()?;
    // A second barrier behind the mounts. At level `landlock` it is the only one.
    landlock::enforce(profile)?;
    // Last, because it refuses system calls that the steps above need.
    seccomp::install(profile, supervisor)
}

/// Gives up what the supervisor does not need. It acts in the place of commands, so it must not have more rights than they.
pub fn restrict_supervisor(profile: &Profile) -> Result<(), Failure> {
    capabilities::drop_for_supervisor(profile.level)?;
    not_dumpable()
}

fn not_dumpable() -> Result<(), Failure> {
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
        .doing(|| "make the process not dumpable".to_owned())
}

/// Mode `off` restricts nothing, except that `network = "off"` still holds.
fn without_sandbox(profile: &Profile) -> Result<Option<OwnedFd>, Failure> {
    if profile.network == Network::On {
        return Ok(None);
    }
    rustix::thread::set_no_new_privs(true).doing(|| "set no_new_privs".to_owned())?;
    seccomp::install(profile, false)
}
