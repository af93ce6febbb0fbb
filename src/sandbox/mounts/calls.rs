//! The mount calls of Linux 5.2 and 5.12. A mount can be cloned into a descriptor and attached later. So a directory can be
//! covered by an empty one, and a mount that was below it attached again on top.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::CWD;
use rustix::mount::{
    MountFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount, mount_change, mount_remount, move_mount, open_tree,
    unmount,
};

pub const READ_ONLY: u64 = libc::MOUNT_ATTR_RDONLY;
/// Ignores set-id bits and device nodes.
pub const HARMLESS: u64 = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;

/// Separates our mounts from the host's: from now on a change on one side does not appear on the other.
pub fn make_private() -> io::Result<()> {
    use rustix::mount::MountPropagationFlags;
    Ok(mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?)
}

/// Separates our mounts from the host's in one direction: a change of ours does not appear there.
pub fn make_slave() -> io::Result<()> {
    use rustix::mount::MountPropagationFlags;
    Ok(mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)?)
}

/// Clones the mounts at and below a path. The clone is not attached anywhere.
pub fn clone_at(path: &Path) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
    Ok(open_tree(CWD, path, flags)?)
}

/// Attaches a cloned mount at a path.
pub fn attach(mount: &OwnedFd, path: &Path) -> io::Result<()> {
    Ok(move_mount(mount, "", CWD, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?)
}

/// Sets attributes of a cloned mount, and of all mounts below it.
pub fn set_cloned(mount: &OwnedFd, attributes: u64) -> io::Result<()> {
    set(mount, c"", libc::AT_EMPTY_PATH | libc::AT_RECURSIVE, attributes)
}

/// Sets attributes of the mount at a path and, if `recursive`, of all mounts below it.
pub fn set_at(path: &Path, attributes: u64, recursive: bool) -> io::Result<()> {
    let path = std::ffi::CString::new(path.as_os_str().as_encoded_bytes())?;
    set(CWD, &path, if recursive { libc::AT_RECURSIVE } else { 0 }, attributes)
}

/// Mounts a new file system of a kind that needs no device, such as tmpfs or proc.
pub fn mount_new(kind: &str, path: &Path, flags: MountFlags, options: &str) -> io::Result<()> {
    let options = std::ffi::CString::new(options)?;
    Ok(mount(kind, path, kind, flags, options.as_c_str())?)
}

/// Gives the file system at a path other flags. The kernel also forgets the names it has looked up there.
pub fn remount(path: &Path, flags: MountFlags) -> io::Result<()> {
    Ok(mount_remount(path, flags, c"")?)
}

/// Takes away the uppermost mount at a path.
pub fn detach(path: &Path) -> io::Result<()> {
    Ok(unmount(path, UnmountFlags::DETACH)?)
}

fn set(directory: impl AsFd, path: &std::ffi::CStr, flags: i32, attributes: u64) -> io::Result<()> {
    let request = libc::mount_attr { attr_set: attributes, attr_clr: 0, propagation: 0, userns_fd: 0 };
    // SAFETY: path and request outlive the call, and the size is that of the request.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            directory.as_fd().as_raw_fd(),
            path.as_ptr(),
            flags,
            &raw const request,
            size_of::<libc::mount_attr>(),
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
