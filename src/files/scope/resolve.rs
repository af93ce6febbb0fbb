//! Resolving a path one name at a time, every step from an open handle, no link ever followed by the kernel.
//!
//! This is the careful way, used where one `openat2` cannot do it: to write (the parent matters, and what is missing),
//! to follow a link whose absolute target lies in the scope, and on kernels before 5.6, which have no `openat2`. A link
//! is read as text and resolved again from the root that its target is in; `..` is a step in the names walked so far,
//! never a request to the kernel. So whatever is exchanged meanwhile, the walk stays beneath the roots.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::Root;

/// As many links as the kernel follows.
const MOST_LINKS: u32 = 40;
const STEP: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Where a path leads.
#[derive(Debug)]
pub struct Resolved {
    pub root: Arc<Root>,
    /// The names from the root to what exists.
    pub names: Vec<OsString>,
    /// What exists: the last of `names`, or the root itself.
    pub handle: OwnedFd,
    /// The directory that holds it; none for the root itself.
    pub parent: Option<OwnedFd>,
    /// The names after it that do not exist.
    pub missing: Vec<OsString>,
}

impl Resolved {
    /// The names from the root, missing ones included.
    pub fn below(&self) -> PathBuf {
        self.names.iter().chain(&self.missing).collect()
    }

    /// The whole path, by the name agents use.
    pub fn path(&self) -> PathBuf {
        self.root.shown(&self.below())
    }
}

#[derive(Debug)]
pub enum ResolveError {
    Outside,
    Os(Errno),
}

impl From<Errno> for ResolveError {
    fn from(error: Errno) -> Self {
        Self::Os(error)
    }
}

/// Walks an absolute path. A name that does not exist is no error: see [`Resolved::missing`].
pub fn resolve(roots: &[Arc<Root>], absolute: &Path) -> Result<Resolved, ResolveError> {
    let (root, mut todo) = enter(roots, absolute).ok_or(ResolveError::Outside)?;
    let mut at = start(root)?;
    let mut links = 0;
    while let Some(name) = todo.pop_front() {
        if name == ".." {
            if at.missing.pop().is_some() {
                continue;
            }
            if at.names.pop().is_some() {
                (at.parent, at.handle) = reopen(&at.root, &at.names)?;
            } else {
                let above = at.root.path().parent().unwrap_or(Path::new("/")).join(todo.iter().collect::<PathBuf>());
                let (root, rest) = enter(roots, &above).ok_or(ResolveError::Outside)?;
                (at, todo) = (start(root)?, rest);
            }
            continue;
        }
        if !at.missing.is_empty() {
            at.missing.push(name);
            continue;
        }
        let child = match rustix::fs::openat(&at.handle, &name, STEP, Mode::empty()) {
            Ok(child) => child,
            Err(Errno::NOENT) => {
                at.missing.push(name);
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        if FileType::from_raw_mode(rustix::fs::fstat(&child)?.st_mode) != FileType::Symlink {
            at.names.push(name);
            at.parent = Some(std::mem::replace(&mut at.handle, child));
            continue;
        }
        links += 1;
        if links > MOST_LINKS {
            return Err(Errno::LOOP.into());
        }
        let target = read_link(&child)?;
        if target.is_absolute() {
            let whole = target.join(todo.iter().collect::<PathBuf>());
            let (root, rest) = enter(roots, &whole).ok_or(ResolveError::Outside)?;
            (at, todo) = (start(root)?, rest);
        } else {
            for part in names_of(&target).into_iter().rev() {
                todo.push_front(part);
            }
        }
    }
    Ok(at)
}

/// The root that a path leads into, and the names that remain. Roots are tried from the outermost inwards, because a
/// path is read from the left; above them, where nothing can be exchanged by an agent, `..` is plain text.
pub fn enter(roots: &[Arc<Root>], absolute: &Path) -> Option<(Arc<Root>, VecDeque<OsString>)> {
    by_text(roots, absolute).or_else(|| {
        // The way to a root may lead over links that lie outside, as /tmp does on some systems.
        let real = absolute.ancestors().find_map(|part| {
            let real = part.canonicalize().ok()?;
            Some(real.join(absolute.strip_prefix(part).ok()?))
        })?;
        by_text(roots, &real)
    })
}

/// A root below another's name that does not lie in it, as a project below `/tmp` where `/tmp` is the session's own, is met
/// on the way and goes first.
fn by_text(roots: &[Arc<Root>], absolute: &Path) -> Option<(Arc<Root>, VecDeque<OsString>)> {
    let mut so_far = PathBuf::from("/");
    let mut components = absolute.components();
    let mut entered: Option<(Arc<Root>, VecDeque<OsString>)> = None;
    loop {
        if let Some(root) = roots.iter().find(|root| root.path() == so_far)
            && entered.as_ref().is_none_or(|(outer, _)| !root.real().starts_with(outer.real()))
        {
            entered = Some((root.clone(), names_of(components.as_path()).into()));
        }
        match components.next() {
            Some(Component::Normal(name)) => so_far.push(name),
            Some(Component::ParentDir) if entered.is_none() => {
                so_far.pop();
            }
            None | Some(Component::ParentDir) => return entered,
            Some(Component::CurDir | Component::RootDir | Component::Prefix(_)) => {}
        }
    }
}

fn names_of(path: &Path) -> Vec<OsString> {
    let relevant = |component: Component<'_>| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    };
    path.components().filter_map(relevant).collect()
}

fn start(root: Arc<Root>) -> Result<Resolved, ResolveError> {
    let handle = root.directory().try_clone_to_owned().map_err(|_| Errno::MFILE)?;
    Ok(Resolved { root, names: Vec::new(), handle, parent: None, missing: Vec::new() })
}

/// The directory at these names and its parent, after a step back.
fn reopen(root: &Root, names: &[OsString]) -> Result<(Option<OwnedFd>, OwnedFd), ResolveError> {
    let mut handle = root.directory().try_clone_to_owned().map_err(|_| Errno::MFILE)?;
    let mut parent = None;
    for name in names {
        let child = rustix::fs::openat(&handle, name, STEP | OFlags::DIRECTORY, Mode::empty())?;
        parent = Some(std::mem::replace(&mut handle, child));
    }
    Ok((parent, handle))
}

fn read_link(link: &OwnedFd) -> Result<PathBuf, ResolveError> {
    use std::os::unix::ffi::OsStringExt;
    let target = rustix::fs::readlinkat(link.as_fd(), "", Vec::new())?;
    Ok(PathBuf::from(OsString::from_vec(target.into_bytes())))
}

/// Whether a name in a directory is still the very thing behind a handle.
pub fn is_still(directory: impl AsFd, name: &std::ffi::OsStr, stat: &rustix::fs::Stat) -> bool {
    rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|now| now.st_ino == stat.st_ino && now.st_dev == stat.st_dev)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// Without any `openat2`: the promise of the fallback.
    #[test]
    fn the_careful_way_stays_beneath_the_roots() {
        let world = tempfile::tempdir().unwrap();
        let base = world.path().canonicalize().unwrap();
        for directory in ["w/a/b", "x", "out"] {
            std::fs::create_dir_all(base.join(directory)).unwrap();
        }
        std::fs::write(base.join("w/a/b/f"), "").unwrap();
        std::fs::write(base.join("out/f"), "").unwrap();
        symlink(base.join("out"), base.join("w/leave")).unwrap();
        symlink("../../out/f", base.join("w/a/leave")).unwrap();
        symlink(base.join("w/a/b"), base.join("x/back")).unwrap();
        symlink("b/../b/f", base.join("w/a/stay")).unwrap();
        symlink("round", base.join("w/round")).unwrap();
        let roots: Vec<Arc<Root>> =
            ["w", "x"].iter().map(|name| Arc::new(Root::open(&base.join(name)).unwrap())).collect();
        let rows = [
            ("w/a/b/f", Ok("w/a/b/f")),
            ("w/a/stay", Ok("w/a/b/f")),
            ("x/back/f", Ok("w/a/b/f")),
            ("x/back/../b/f", Ok("w/a/b/f")),
            ("w/a/../../x", Ok("x")),
            ("w/../x/back", Ok("w/a/b")),
            ("w/new/deep/f", Ok("w/new/deep/f")),
            ("w/new/../a", Ok("w/a")),
            ("w", Ok("w")),
            ("w/leave/f", Err("outside")),
            ("w/a/leave", Err("outside")),
            ("w/../out/f", Err("outside")),
            ("x/back/../../../out", Err("outside")),
            ("out/f", Err("outside")),
            ("w/round", Err("loop")),
            ("w/a/b/f/g", Err("not a directory")),
        ];
        for (path, want) in rows {
            let got = resolve(&roots, &base.join(path)).map(|reached| reached.path()).map_err(|error| match error {
                ResolveError::Outside => "outside",
                ResolveError::Os(Errno::LOOP) => "loop",
                ResolveError::Os(Errno::NOTDIR) => "not a directory",
                ResolveError::Os(_) => "other",
            });
            assert_eq!(got, want.map(|path| base.join(path)), "{path}");
        }
    }
}
