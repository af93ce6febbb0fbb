//! Opening what lies beneath a directory handle, and nothing else.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// One system call that cannot leave the directory; links are followed as long as they stay beneath.
pub fn open(directory: impl AsFd, relative: &Path, flags: OFlags, more: ResolveFlags) -> rustix::io::Result<OwnedFd> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | more;
    rustix::fs::openat2(directory, relative, flags | OFlags::CLOEXEC, Mode::empty(), resolve)
}

/// The same for a path that has no links in it, as the paths of a walk; before Linux 5.6 one name at a time.
pub fn open_without_links(directory: impl AsFd, relative: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    // The last name may be a link where the link itself is wanted.
    let last = if flags.contains(OFlags::PATH) { OFlags::NOFOLLOW } else { OFlags::empty() };
    match open(&directory, relative, flags | last, ResolveFlags::NO_SYMLINKS) {
        Err(Errno::NOSYS | Errno::PERM) => step_by_step(directory, relative, flags),
        other => other,
    }
}

fn step_by_step(directory: impl AsFd, relative: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let mut names = relative.components().peekable();
    let mut at = None::<OwnedFd>;
    while let Some(name) = names.next() {
        let std::path::Component::Normal(name) = name else { return Err(Errno::XDEV) };
        let step = if names.peek().is_some() { OFlags::PATH | OFlags::DIRECTORY } else { flags };
        let step = step | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let from = at.as_ref().map_or_else(|| directory.as_fd(), AsFd::as_fd);
        let child = rustix::fs::openat(from, name, step, Mode::empty())?;
        at = Some(child);
    }
    at.ok_or(Errno::NOENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_name_at_a_time_leads_nowhere_else() {
        let world = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(world.path().join("w/a")).unwrap();
        std::fs::write(world.path().join("w/a/f"), "").unwrap();
        std::os::unix::fs::symlink("a", world.path().join("w/link")).unwrap();
        let root = std::fs::File::open(world.path().join("w")).unwrap();
        for (path, found) in
            [("a/f", true), ("a", true), ("link", false), ("link/f", false), ("../w/a", false), ("no", false)]
        {
            let careful = step_by_step(&root, Path::new(path), OFlags::RDONLY);
            assert_eq!(careful.is_ok(), found, "{path}");
            assert_eq!(open_without_links(&root, Path::new(path), OFlags::RDONLY).is_ok(), found, "{path}");
        }
    }
}
