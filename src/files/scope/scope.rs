//! The directories that file tools may touch.
//!
//! The guarantee: a file that is opened lies beneath one of the roots at the moment it is opened, whatever an agent's
//! commands rename or link at the same time. `openat2` with RESOLVE_BENEATH and RESOLVE_NO_MAGICLINKS (Linux 5.6) gives
//! this guarantee in one system call. Where that call is missing or fails, [`super::resolve`] gives the same guarantee one
//! name at a time.

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{OFlags, ResolveFlags};

use super::resolve::{self, ResolveError, Resolved};
use super::{DenyGlobs, PathHandle, RequestedPath, Root, beneath, same_name};
use crate::files::FileError;

/// The roots and deny globs in force. Cheap to clone. A change of scope makes a new object.
#[derive(Clone, Debug)]
pub struct Scope {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// Outermost first.
    roots: Vec<Arc<Root>>,
    deny: DenyGlobs,
    /// Shown with an "outside" error: what the user can do about a scope that is smaller than they expect.
    advice: Option<&'static str>,
}

impl Scope {
    pub fn new(mut roots: Vec<Root>, deny: DenyGlobs) -> Self {
        roots.sort_by(|a, b| a.path().cmp(b.path()));
        roots.dedup_by(|a, b| a.path() == b.path());
        Self { inner: Arc::new(Inner { roots: roots.into_iter().map(Arc::new).collect(), deny, advice: None }) }
    }

    /// The same scope, with advice that is shown when a path lies outside it.
    #[must_use]
    pub fn with_advice(self, advice: &'static str) -> Self {
        let (roots, deny) = (self.inner.roots.clone(), self.inner.deny.clone());
        Self { inner: Arc::new(Inner { roots, deny, advice: Some(advice) }) }
    }

    /// The allowed directories, as agents know them.
    pub fn directories(&self) -> Vec<PathBuf> {
        self.inner.roots.iter().map(|root| root.path().to_owned()).collect()
    }

    pub fn deny(&self) -> &DenyGlobs {
        &self.inner.deny
    }

    /// A handle on what exists at a path.
    pub fn find(&self, requested: &RequestedPath) -> Result<PathHandle, FileError> {
        self.check_text(requested)?;
        if let Some(handle) = self.find_in_one_call(requested)? {
            return Ok(handle);
        }
        let resolved = self.resolve(requested)?;
        if !resolved.missing.is_empty() {
            return Err(self.not_found(requested));
        }
        let names = resolved.names();
        PathHandle::new(resolved.handle, names).map_err(|error| FileError::os("look at", requested.text(), error))
    }

    /// Where a path leads, whether or not something exists there. An error if it is outside the scope or denied.
    pub fn resolve(&self, requested: &RequestedPath) -> Result<Resolved, FileError> {
        self.check_text(requested)?;
        let resolved = resolve::resolve(&self.inner.roots, requested.absolute()).map_err(|error| match error {
            ResolveError::Outside => self.outside(requested),
            ResolveError::Os(error) => FileError::os("open", requested.text(), error),
        })?;
        self.check_denied(requested, &resolved.root, &resolved.below())?;
        Ok(resolved)
    }

    pub fn not_found(&self, requested: &RequestedPath) -> FileError {
        FileError::NotFound {
            path: requested.text().to_owned(),
            absolute: requested.without_dots(),
            same_name: same_name::find(&self.inner.roots, &self.inner.deny, requested),
        }
    }

    /// Opens with a single `openat2`, which is enough for most paths. `None` decides nothing: the caller then resolves one
    /// name at a time.
    fn find_in_one_call(&self, requested: &RequestedPath) -> Result<Option<PathHandle>, FileError> {
        let Some((root, rest)) = resolve::split_at_root(&self.inner.roots, requested.absolute()) else {
            return Err(self.outside(requested));
        };
        let mut relative: PathBuf = rest.into_iter().collect();
        if relative.as_os_str().is_empty() {
            relative.push(".");
        }
        let Ok(handle) = beneath::open(root.directory(), &relative, OFlags::PATH, ResolveFlags::empty()) else {
            return Ok(None);
        };
        let Some(below) = place_below(&root, &handle) else { return Ok(None) };
        self.check_denied(requested, &root, &below)?;
        PathHandle::new(handle, root.names().join(&below))
            .map(Some)
            .map_err(|error| FileError::os("look at", requested.text(), error))
    }

    /// Checks the path as text before the file system is asked: a denied name must give the same answer whether it exists
    /// or not.
    fn check_text(&self, requested: &RequestedPath) -> Result<(), FileError> {
        let path = requested.without_dots();
        let within = self.inner.roots.iter().find_map(|root| Some((root, path.strip_prefix(root.path()).ok()?)));
        within.map_or(Ok(()), |(root, below)| self.check_denied(requested, root, below))
    }

    /// Checks both names of the path: the operator may have had either in mind.
    fn check_denied(&self, requested: &RequestedPath, root: &Root, below: &Path) -> Result<(), FileError> {
        let (deny, names) = (&self.inner.deny, root.names().join(below));
        let by_agent_name = deny.pattern_for(root.path(), &names.agent);
        let by_name = by_agent_name.or_else(|| deny.pattern_for(root.real(), &names.real));
        // What exists is checked by identity too: a secret may have been moved or linked.
        let by_identity = || deny.secrets().is_one_by_identity(root.directory(), below).then_some("secrets");
        let Some(pattern) = by_name.or_else(by_identity) else { return Ok(()) };
        Err(FileError::Denied {
            path: requested.text().to_owned(),
            pattern: pattern.to_owned(),
            allowed: self.directories(),
        })
    }

    fn outside(&self, requested: &RequestedPath) -> FileError {
        FileError::Outside { path: requested.text().to_owned(), allowed: self.directories(), advice: self.inner.advice }
    }
}

/// Where below the root the file behind a handle lies. `None` if it was moved out meanwhile.
fn place_below(root: &Root, handle: &OwnedFd) -> Option<PathBuf> {
    let real = std::fs::read_link(format!("/proc/self/fd/{}", handle.as_raw_fd())).ok()?;
    real.strip_prefix(root.real()).ok().map(Path::to_owned)
}
