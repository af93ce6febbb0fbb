//! The directories that file tools may touch.
//!
//! The promise: what is opened lies beneath one of the roots at the moment it is opened, whatever an agent's commands
//! rename or link meanwhile. `openat2` with RESOLVE_BENEATH and RESOLVE_NO_MAGICLINKS (Linux 5.6) gives it in one system
//! call. Where that call is missing or says no, [`super::resolve`] gives the same promise name by name.

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{OFlags, ResolveFlags};

use super::resolve::{self, ResolveError, Resolved};
use super::{DenyGlobs, PathHandle, RequestedPath, Root, beneath, same_name};
use crate::files::FileError;

/// Roots and deny globs in force. Cheap to clone; a change of scope is a new object.
#[derive(Clone, Debug)]
pub struct Scope {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// Outermost first.
    roots: Vec<Arc<Root>>,
    deny: DenyGlobs,
    /// What to do about a scope that is smaller than one would expect.
    advice: Option<&'static str>,
}

impl Scope {
    pub fn new(mut roots: Vec<Root>, deny: DenyGlobs) -> Self {
        roots.sort_by(|a, b| a.path().cmp(b.path()));
        roots.dedup_by(|a, b| a.path() == b.path());
        Self { inner: Arc::new(Inner { roots: roots.into_iter().map(Arc::new).collect(), deny, advice: None }) }
    }

    /// As it is, with a word for those who find that something is outside.
    #[must_use]
    pub fn with_advice(self, advice: &'static str) -> Self {
        let (roots, deny) = (self.inner.roots.clone(), self.inner.deny.clone());
        Self { inner: Arc::new(Inner { roots, deny, advice: Some(advice) }) }
    }

    /// From plain names; every directory must exist.
    pub fn of_directories(directories: &[PathBuf], deny: DenyGlobs) -> std::io::Result<Self> {
        let roots = directories.iter().map(|path| Root::open(path)).collect::<Result<_, _>>()?;
        Ok(Self::new(roots, deny))
    }

    /// The allowed directories, as agents know them.
    pub fn directories(&self) -> Vec<PathBuf> {
        self.inner.roots.iter().map(|root| root.path().to_owned()).collect()
    }

    pub fn deny(&self) -> &DenyGlobs {
        &self.inner.deny
    }

    /// What exists at a path.
    pub fn find(&self, asked: &RequestedPath) -> Result<PathHandle, FileError> {
        self.check_written(asked)?;
        if let Some(entry) = self.find_at_once(asked)? {
            return Ok(entry);
        }
        let reached = self.reach(asked)?;
        if !reached.missing.is_empty() {
            return Err(self.not_found(asked));
        }
        let below = reached.below();
        PathHandle::new(reached.handle, &reached.root, &below)
            .map_err(|error| FileError::os("look at", asked.text(), error))
    }

    /// Where a path leads, whether or not it exists; allowed in either case.
    pub fn reach(&self, asked: &RequestedPath) -> Result<Resolved, FileError> {
        self.check_written(asked)?;
        let reached = resolve::resolve(&self.inner.roots, asked.absolute()).map_err(|error| match error {
            ResolveError::Outside => self.outside(asked),
            ResolveError::Os(error) => FileError::os("open", asked.text(), error),
        })?;
        self.check_denied(asked, &reached.root, &reached.below())?;
        Ok(reached)
    }

    pub fn not_found(&self, asked: &RequestedPath) -> FileError {
        FileError::NotFound {
            path: asked.text().to_owned(),
            absolute: asked.shown(),
            same_name: same_name::find(&self.inner.roots, &self.inner.deny, asked),
        }
    }

    /// One call for the usual case; `None` is no verdict, only a reason to walk.
    fn find_at_once(&self, asked: &RequestedPath) -> Result<Option<PathHandle>, FileError> {
        let Some((root, rest)) = resolve::enter(&self.inner.roots, asked.absolute()) else {
            return Err(self.outside(asked));
        };
        let mut relative: PathBuf = rest.into_iter().collect();
        if relative.as_os_str().is_empty() {
            relative.push(".");
        }
        let Ok(handle) = beneath::open(root.directory(), &relative, OFlags::PATH, ResolveFlags::empty()) else {
            return Ok(None);
        };
        let Some(below) = place_of(&root, &handle) else { return Ok(None) };
        self.check_denied(asked, &root, &below)?;
        PathHandle::new(handle, &root, &below).map(Some).map_err(|error| FileError::os("look at", asked.text(), error))
    }

    /// The text itself, before anything is looked at: a denied name gives the same answer whether it exists or not.
    fn check_written(&self, asked: &RequestedPath) -> Result<(), FileError> {
        let shown = asked.shown();
        let found = self.inner.roots.iter().find_map(|root| Some((root, shown.strip_prefix(root.path()).ok()?)));
        found.map_or(Ok(()), |(root, below)| self.check_denied(asked, root, below))
    }

    /// By the name agents use and by the kernel's: either may be what the operator had in mind.
    fn check_denied(&self, asked: &RequestedPath, root: &Root, below: &Path) -> Result<(), FileError> {
        let deny = &self.inner.deny;
        let shown = deny.matching(root.path(), &root.shown(below));
        let Some(pattern) = shown.or_else(|| deny.matching(root.real(), &root.kept(below))) else { return Ok(()) };
        Err(FileError::Denied {
            path: asked.text().to_owned(),
            pattern: pattern.to_owned(),
            allowed: self.directories(),
        })
    }

    fn outside(&self, asked: &RequestedPath) -> FileError {
        FileError::Outside { path: asked.text().to_owned(), allowed: self.directories(), advice: self.inner.advice }
    }
}

/// Where below the root a handle's file lies, if it still does.
fn place_of(root: &Root, handle: &OwnedFd) -> Option<PathBuf> {
    let real = std::fs::read_link(format!("/proc/self/fd/{}", handle.as_raw_fd())).ok()?;
    real.strip_prefix(root.real()).ok().map(Path::to_owned)
}
