use super::failure::{Doing, Failure};
use super::{Level, Network, Profile, capabilities, landlock, limits, mounts, seccomp};

/// Gives up, for good, what the profile does not grant. Called once, by the keeper, before it starts anything. The order
/// is part of the safety: each step needs rights that a later one takes away.
pub fn restrict(profile: &Profile) -> Result<(), Failure> {
    if profile.level == Level::None {
        return without_sandbox(profile);
    }
    // First, so that nothing below can use more than the session may.
    limits::apply(profile)?;
    if profile.level == Level::Full {
        // Needs every capability of our user namespace.
        mounts::build(profile)?;
        if profile.network == Network::Loopback {
            super::namespaces::raise_loopback().doing(|| "raise the session's loopback".to_owned())?;
        }
    }
    // Mounting, namespaces and devices are over from here on.
    capabilities::drop(profile.level)?;
    // No program can give back what was dropped; Landlock and seccomp ask for it too.
    rustix::thread::set_no_new_privs(true).doing(|| "refuse new privileges".to_owned())?;
    // Commands run as the same user, and must not reach into the keeper's memory through /proc.
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
        .doing(|| "close the keeper's memory to its commands".to_owned())?;
    // The second wall behind the mounts, and the first where there are none.
    landlock::enforce(profile)?;
    // Last, because it forbids system calls that the steps above make.
    seccomp::install(profile)
}

/// Mode `off` is off, but a network that was switched off stays so.
fn without_sandbox(profile: &Profile) -> Result<(), Failure> {
    if profile.network == Network::On {
        return Ok(());
    }
    rustix::thread::set_no_new_privs(true).doing(|| "refuse new privileges".to_owned())?;
    seccomp::install(profile)
}
