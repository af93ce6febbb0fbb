//! Drops the capabilities of the keeper, and so of all its commands.

use std::io;

use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};

use super::Level;
use super::failure::{Doing, Failure};

/// Root needs these for ordinary work: to write in a project of another user, to unpack an archive with its owners, to run
/// a test as another user. In the session's user namespace they give no access beyond what the mounts allow.
const FILE_WORK: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETGID);

/// The capabilities that we keep at a level, as the user that we run as.
pub fn kept(level: Level) -> CapabilitySet {
    let root_inside = level == Level::Full && rustix::process::geteuid().is_root();
    if root_inside { FILE_WORK } else { CapabilitySet::empty() }
}

pub fn drop(level: Level) -> Result<(), Failure> {
    let kept = kept(level);
    for number in 0..64 {
        if kept.bits() >> number & 1 == 0 && !drop_from_bounding_set(number)? {
            break;
        }
    }
    rustix::thread::clear_ambient_capability_set().doing(|| "clear the ambient capabilities".to_owned())?;
    let sets = CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() };
    set_capabilities(None, sets).doing(|| "drop the capabilities".to_owned())
}

/// Returns `false` when there is nothing more to drop: the kernel knows no capability of that number, or an ordinary user
/// may not change the set. An ordinary user need not, because with `no_new_privs` no program gains a capability.
fn drop_from_bounding_set(number: u64) -> Result<bool, Failure> {
    // SAFETY: prctl with integer arguments only.
    if unsafe { libc::prctl(libc::PR_CAPBSET_DROP, number, 0, 0, 0) } == 0 {
        return Ok(true);
    }
    match io::Error::last_os_error() {
        error if error.raw_os_error() == Some(libc::EINVAL) => Ok(false),
        error if error.raw_os_error() == Some(libc::EPERM) && !rustix::process::geteuid().is_root() => Ok(false),
        error => Err(error).doing(|| format!("drop capability {number} from the bounding set")),
    }
}
