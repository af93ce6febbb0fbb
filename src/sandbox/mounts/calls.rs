//! The new mount interface (Linux 5.2 and 5.12): mounts are held as descriptors first and put in place when everything
//! around them is ready, so that a place can be covered and what lay below still shown.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::CWD;
use rustix::mount::{MountFlags, MoveMountFlags, OpenTreeFlags, mount, mount_change, move_mount, open_tree};

pub const READ_ONLY: u64 = libc::MOUNT_ATTR_RDONLY;
/// No set-id programs, no devices.
pub const HARMLESS: u64 = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;

/// What happens here shall not reach the host, nor the other way round.
pub fn make_private() -> io::Result<()> {
    use rustix::mount::MountPropagationFlags;
    Ok(mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?)
}

/// A copy of what is mounted at a path and below, in no place yet.
pub fn hold(path: &Path) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
    Ok(open_tree(CWD, path, flags)?)
}

/// Puts a held mount in its place.
pub fn put(held: &OwnedFd, path: &Path) -> io::Result<()> {
    Ok(move_mount(held, "", CWD, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?)
}

/// A held mount and everything in it.
pub fn set_held(held: &OwnedFd, attributes: u64) -> io::Result<()> {
    set(held, c"", libc::AT_EMPTY_PATH | libc::AT_RECURSIVE, attributes)
}

/// The mount at a path, with those below it or without.
pub fn set_at(path: &Path, attributes: u64, recursive: bool) -> io::Result<()> {
    let path = std::ffi::CString::new(path.as_os_str().as_encoded_bytes())?;
    set(CWD, &path, if recursive { libc::AT_RECURSIVE } else { 0 }, attributes)
}

/// A file system of one of the kernel's own kinds.
pub fn fresh(kind: &str, path: &Path, flags: MountFlags, options: &str) -> io::Result<()> {
    let options = std::ffi::CString::new(options)?;
    Ok(mount(kind, path, kind, flags, options.as_c_str())?)
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
