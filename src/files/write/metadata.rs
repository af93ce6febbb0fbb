//! The metadata of a file: owner, group, mode and extended attributes (access control lists among them).

use std::fs::File;
use std::os::fd::AsFd;

use rustix::fs::{Gid, Mode, Stat, Uid, XattrFlags};

/// Copies the metadata of the old file to the new one as far as permitted, and returns what could not be kept. A user who
/// may write a file but not change its owner can still edit it.
pub fn copy(old: &File, stat: &Stat, new: &File) -> Vec<&'static str> {
    let mut lost = Vec::new();
    let (owner, group) = (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid));
    // If both together fail, the group alone is tried: a member of the group may set it without being allowed to set the
    // owner.
    let kept = rustix::fs::fchown(new, Some(owner), Some(group)).is_ok();
    if !kept && rustix::fs::fchown(new, None, Some(group)).is_err() {
        lost.push("group");
    }
    if rustix::fs::fstat(new).map_or(true, |now| now.st_uid != stat.st_uid) {
        lost.push("owner");
    }
    if copy_attributes(old, new).is_err() {
        lost.push("extended attributes");
    }
    // The mode comes last, because a change of owner clears the set-user-ID bit.
    if rustix::fs::fchmod(new, Mode::from_raw_mode(stat.st_mode & 0o7777)).is_err() {
        lost.push("mode");
    }
    lost
}

fn copy_attributes(old: impl AsFd, new: impl AsFd) -> rustix::io::Result<()> {
    // On a file system without attributes there is nothing to copy.
    let Ok(length @ 1..) = rustix::fs::flistxattr_query(&old) else { return Ok(()) };
    let mut names = vec![0; length];
    let length = rustix::fs::flistxattr(&old, &mut names[..])?;
    for name in names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let mut value = vec![0; rustix::fs::fgetxattr_query(&old, name)?];
        let length = rustix::fs::fgetxattr(&old, name, &mut value[..])?;
        rustix::fs::fsetxattr(&new, name, &value[..length], XattrFlags::empty())?;
    }
    Ok(())
}
