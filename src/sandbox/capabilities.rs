//! What a superuser could do beyond file permissions, given up.

use std::io;

use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};

use super::Level;
use super::failure::{Doing, Failure};

/// Without these root cannot do ordinary file work: write in a project of another user, unpack an archive with owners,
/// run a test as somebody else. Inside the user namespace they reach no further than the mounts do.
const FILE_WORK: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETGID);

/// What stays at a level, for the user we are.
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

/// `false` when the kernel knows no capability of that number. An ordinary user may not touch the set, and need not:
/// without new privileges nothing of it can be gained.
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
