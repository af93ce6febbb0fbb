//! Opens what lies beneath a directory handle, and nothing else.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// Opens in one system call that cannot leave the directory. Links are followed as long as they stay beneath it.
pub fn open(directory: impl AsFd, relative: &Path, flags: OFlags, more: ResolveFlags) -> rustix::io::Result<OwnedFd> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | more;
    rustix::fs::openat2(directory, relative, flags | OFlags::CLOEXEC, Mode::empty(), resolve)
}

/// Opens a path that has no links in it, as a directory walk yields them. Before Linux 5.6, which has no `openat2`, it
/// opens one name at a time.
pub fn open_without_links(directory: impl AsFd, relative: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    // With O_PATH the caller may want the link itself, so the last name may be a link.
    let last = if flags.contains(OFlags::PATH) { OFlags::NOFOLLOW } else { OFlags::empty() };
    match open(&directory, relative, flags | last, ResolveFlags::NO_SYMLINKS) {
        Err(Errno::NOSYS | Errno::PERM) => open_name_by_name(directory, relative, flags),
        other => other,
    }
}

fn open_name_by_name(directory: impl AsFd, relative: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let mut names = relative.components().peekable();
    let mut reached = None::<OwnedFd>;
    while let Some(name) = names.next() {
        let std::path::Component::Normal(name) = name else { return Err(Errno::XDEV) };
        let step = if names.peek().is_some() { OFlags::PATH | OFlags::DIRECTORY } else { flags };
        let step = step | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let parent = reached.as_ref().map_or_else(|| directory.as_fd(), AsFd::as_fd);
        let child = rustix::fs::openat(parent, name, step, Mode::empty())?;
        reached = Some(child);
    }
    reached.ok_or(Errno::NOENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_name_at_a_time_follows_no_link_and_no_dots() {
        let world = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(world.path().join("w/a")).unwrap();
        std::fs::write(world.path().join("w/a/f"), "").unwrap();
        std::os::unix::fs::symlink("a", world.path().join("w/link")).unwrap();
        let root = std::fs::File::open(world.path().join("w")).unwrap();
        for (path, opens) in
            [("a/f", true), ("a", true), ("link", false), ("link/f", false), ("../w/a", false), ("no", false)]
        {
            let by_name = open_name_by_name(&root, Path::new(path), OFlags::RDONLY);
            assert_eq!(by_name.is_ok(), opens, "{path}");
            assert_eq!(open_without_links(&root, Path::new(path), OFlags::RDONLY).is_ok(), opens, "{path}");
        }
    }
}
