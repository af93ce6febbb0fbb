//! Drops the capabilities of the keeper, and so of all its commands.

use std::io;

use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};

use super::failure::{Doing, Failure};
use super::{Level, landlock};

/// Root needs these for ordinary work: to write in a project of another user, to unpack an archive with its owners, to run
/// a test as another user. At level `full` they give no access beyond what the mounts allow. At level `landlock` they let
/// root read and write only what Landlock grants, but change modes and owners everywhere.
const FILE_WORK: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETGID);

/// The capabilities that we may keep at a level, as the user that we run as.
pub fn kept(level: Level) -> CapabilitySet {
    if !rustix::process::geteuid().is_root() {
        return CapabilitySet::empty();
    }
    // Without a pid namespace, only Landlock can keep root from signalling the processes of other users.
    let signals_stay_inside = level == Level::Full || landlock::knows_scopes();
    if signals_stay_inside { FILE_WORK } else { FILE_WORK.difference(CapabilitySet::KILL) }
}

pub fn drop(level: Level) -> Result<(), Failure> {
    let kept = available(kept(level))?;
    for number in (0..64).filter(|number| kept.bits() >> number & 1 == 0) {
        drop_from_bounding_set(number)?;
    }
    limit_to(kept)
}

/// For the process that acts in the place of commands: what they have, and reading their memory.
pub fn drop_for_supervisor(level: Level) -> Result<(), Failure> {
    limit_to(available(kept(level) | CapabilitySet::SYS_PTRACE)?)
}

/// A container may have taken some of them away already.
fn available(wanted: CapabilitySet) -> Result<CapabilitySet, Failure> {
    let had = rustix::thread::capabilities(None).doing(|| "read the capabilities".to_owned())?;
    Ok(wanted & had.permitted)
}

fn limit_to(kept: CapabilitySet) -> Result<(), Failure> {
    rustix::thread::clear_ambient_capability_set().doing(|| "clear the ambient capabilities".to_owned())?;
    let sets = CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() };
    set_capabilities(None, sets).doing(|| "drop the capabilities".to_owned())
}

/// Does nothing if the set lacks the capability, or if we may not change the set (which takes CAP_SETPCAP). We need not
/// change it then, because with `no_new_privs` no program gains a capability.
fn drop_from_bounding_set(number: u64) -> Result<(), Failure> {
    // SAFETY: prctl with integer arguments only.
    let present = unsafe { libc::prctl(libc::PR_CAPBSET_READ, number, 0, 0, 0) } == 1;
    // SAFETY: as above.
    if !present || unsafe { libc::prctl(libc::PR_CAPBSET_DROP, number, 0, 0, 0) } == 0 {
        return Ok(());
    }
    match io::Error::last_os_error() {
        error if error.raw_os_error() == Some(libc::EPERM) => Ok(()),
        error => Err(error).doing(|| format!("drop capability {number} from the bounding set")),
    }
}
