//! Resolves a path one name at a time. Every step starts at an open handle, and the kernel never follows a link.
//!
//! This is the slow way. It is needed where one `openat2` is not enough: to write (the parent directory and the missing
//! names matter), to follow a link whose absolute target lies in the scope, and before Linux 5.6, which has no `openat2`.
//! A link is read as text and resolved again from the root that its target lies in. A `..` removes the last of the names
//! resolved so far and is never passed to the kernel. So the result lies beneath a root even if commands exchange
//! directories meanwhile.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use super::{DualPath, Root};

/// The kernel follows as many links.
const MOST_LINKS: u32 = 40;
const STEP: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Where a path leads.
#[derive(Debug)]
pub struct Resolved {
    pub root: Arc<Root>,
    /// The names below the root that exist.
    pub existing: Vec<OsString>,
    /// A handle on the last of them, or on the root if there are none.
    pub handle: OwnedFd,
    /// The directory that holds it; `None` for the root.
    pub parent: Option<OwnedFd>,
    /// The names after the existing ones, which do not exist.
    pub missing: Vec<OsString>,
}

impl Resolved {
    /// The path from the root, missing names included.
    pub fn below(&self) -> PathBuf {
        self.existing.iter().chain(&self.missing).collect()
    }

    /// The whole path, missing names included.
    pub fn names(&self) -> DualPath {
        self.root.names().join(&self.below())
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

/// Resolves an absolute path. A name that does not exist is not an error: see [`Resolved::missing`].
pub fn resolve(roots: &[Arc<Root>], absolute: &Path) -> Result<Resolved, ResolveError> {
    let (root, mut rest) = split_at_root(roots, absolute).ok_or(ResolveError::Outside)?;
    let mut at = start(root)?;
    let mut links = 0;
    while let Some(name) = rest.pop_front() {
        if name == ".." {
            if at.missing.pop().is_some() {
                continue;
            }
            if at.existing.pop().is_some() {
                (at.parent, at.handle) = reopen(&at.root, &at.existing)?;
            } else {
                let above = at.root.path().parent().unwrap_or(Path::new("/")).join(rest.iter().collect::<PathBuf>());
                (at, rest) = start_again(roots, &above)?;
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
            at.existing.push(name);
            at.parent = Some(std::mem::replace(&mut at.handle, child));
            continue;
        }
        links += 1;
        if links > MOST_LINKS {
            return Err(Errno::LOOP.into());
        }
        let target = read_link(&child)?;
        if target.is_absolute() {
            (at, rest) = start_again(roots, &target.join(rest.iter().collect::<PathBuf>()))?;
        } else {
            for part in names_of(&target).into_iter().rev() {
                rest.push_front(part);
            }
        }
    }
    Ok(at)
}

/// The root that an absolute path leads into, and the names that remain below it. Roots are tried from the outermost
/// inwards, because a path is read from the left. Above the roots a `..` is resolved as text, because an agent cannot
/// exchange anything there.
pub fn split_at_root(roots: &[Arc<Root>], absolute: &Path) -> Option<(Arc<Root>, VecDeque<OsString>)> {
    split_by_text(roots, absolute).or_else(|| {
        // The path to a root may lead over links that lie outside, as /tmp does on some systems.
        let real = absolute.ancestors().find_map(|part| {
            let real = part.canonicalize().ok()?;
            Some(real.join(absolute.strip_prefix(part).ok()?))
        })?;
        split_by_text(roots, &real)
    })
}

/// A project below `/tmp` is a root whose path lies below another root's path (the session's own `/tmp`), but whose
/// directory does not lie in that root's directory. Such an inner root takes precedence.
fn split_by_text(roots: &[Arc<Root>], absolute: &Path) -> Option<(Arc<Root>, VecDeque<OsString>)> {
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
    let name = |component: Component<'_>| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    };
    path.components().filter_map(name).collect()
}

fn start(root: Arc<Root>) -> Result<Resolved, ResolveError> {
    let handle = root.directory().try_clone_to_owned().map_err(|_| Errno::MFILE)?;
    Ok(Resolved { root, existing: Vec::new(), handle, parent: None, missing: Vec::new() })
}

/// Begins anew at the root that another absolute path leads into.
fn start_again(roots: &[Arc<Root>], absolute: &Path) -> Result<(Resolved, VecDeque<OsString>), ResolveError> {
    let (root, rest) = split_at_root(roots, absolute).ok_or(ResolveError::Outside)?;
    Ok((start(root)?, rest))
}

/// Opens the directory at these names again, and its parent, after a `..`.
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// The guarantee of the fallback, which does not use `openat2`.
    #[test]
    fn resolving_name_by_name_stays_beneath_the_roots() {
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
            ["w", "x"].iter().map(|name| Arc::new(Root::as_written(&base.join(name)).unwrap())).collect();
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
            let got =
                resolve(&roots, &base.join(path)).map(|resolved| resolved.names().agent).map_err(|error| match error {
                    ResolveError::Outside => "outside",
                    ResolveError::Os(Errno::LOOP) => "loop",
                    ResolveError::Os(Errno::NOTDIR) => "not a directory",
                    ResolveError::Os(_) => "other",
                });
            assert_eq!(got, want.map(|path| base.join(path)), "{path}");
        }
    }
}
