use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::{Draft, Drafts, Sides, baseline, settle, transfer};
use crate::base::locks::LockExt;
use crate::exec::LayerLease;
use crate::exec::caller::lookout;
use crate::sandbox::{Failure, Level};
use crate::sandbox::{draft, obstacles};

/// A server's part in drafts: every directory of its scope is covered by the overlay of its draft.
#[derive(Debug)]
pub struct Work {
    drafts: Drafts,
    state_dir: PathBuf,
    covered: Mutex<Vec<Covered>>,
    looking: AtomicBool,
    looked: Mutex<Looked>,
}

#[derive(Debug)]
struct Covered {
    draft: Draft,
    /// The person's own directory. `None` if another server had covered it before we could open it; that server looks.
    lower: Option<OwnedFd>,
    /// While it lives, nobody mounts the draft a second time.
    _lease: LayerLease,
}

#[derive(Debug)]
struct Looked {
    at: Instant,
    took: Duration,
}

/// Why there is no draft to work on.
#[derive(Debug, thiserror::Error)]
pub enum DraftError {
    #[error("{project} cannot be worked on as a draft: {reason}\nfix: {fix}")]
    Unsuitable { project: String, reason: String, fix: String },
    #[error("no draft can be made of {project}: {failure}{}", fixes(failure))]
    Refused { project: String, failure: Failure },
    #[error(
        "no draft can be kept of {project}: {error}\nfix: make the state directory of testudo writable (XDG_STATE_HOME)"
    )]
    NotKept { project: String, error: std::io::Error },
    #[error(
        "another server works on the draft of {project}, and this one cannot share it: {reason}\nfix: end the other server \
         (`testudo ps` shows it)"
    )]
    Taken { project: String, reason: &'static str },
}

fn fixes(failure: &Failure) -> String {
    let mut fixes = obstacles::fixes(Level::Landlock);
    if failure.errno() == libc::EINVAL {
        fixes.push(
            "the state directory must lie on a file system that can hold the upper layer of an overlay (ext4, xfs, btrfs, \
             tmpfs; not an overlay, which most containers have as their root): set XDG_STATE_HOME"
                .to_owned(),
        );
    }
    fixes.push("leave --draft out: commands then change the project itself".to_owned());
    fixes.iter().flat_map(|fix| ["\nfix: ", fix]).collect()
}

const OTHER_NAMESPACE: &str = "its mounts cannot be entered from here";
const TWO_NAMESPACES: &str = "the directories of this server belong to drafts of two other servers";

/// Looking at drafts takes at most this share of the time.
const SHARE: u32 = 50;
const BETWEEN_LOOKS: Duration = Duration::from_secs(2);

impl Work {
    /// Moves this process to where the drafts of these directories are mounted. It must have a single thread.
    pub fn begin(state_dir: &Path, directories: &[PathBuf]) -> Result<Self, DraftError> {
        let looked = Mutex::new(Looked { at: Instant::now(), took: Duration::ZERO });
        let state_dir = state_dir.canonicalize().unwrap_or_else(|_| state_dir.to_owned());
        let work = Self {
            drafts: Drafts::below(&state_dir),
            state_dir,
            covered: Mutex::default(),
            looking: AtomicBool::default(),
            looked,
        };
        let mut leases = Vec::new();
        for directory in outermost(directories) {
            let (draft, lease) = work.lease(&directory)?;
            let lower = transfer::open_directory(&directory).map_err(|error| not_kept(&directory, error))?;
            leases.push((draft, lease, lower));
        }
        let mut namespaces = Vec::new();
        for (draft, lease, _) in &leases {
            let found = lease.namespaces().map_err(|error| not_kept(draft.project(), error))?;
            namespaces.extend(pair(found).map(|pair| (draft.project().to_owned(), pair)));
        }
        let here = std::env::current_dir().ok();
        if !draft::may_mount() {
            lookout::leave_behind().map_err(|error| not_kept(&work.state_dir, error))?;
        }
        match &namespaces[..] {
            [] => draft::separate().map_err(|failure| refused(directories.first(), failure))?,
            [(project, (users, mounts)), others @ ..] => {
                if let Some((other, _)) = others.iter().find(|(_, (_, other))| !draft::are_same(other, mounts)) {
                    return Err(DraftError::Taken { project: shown(other), reason: TWO_NAMESPACES });
                }
                draft::join(users, mounts).map_err(|failure| refused(Some(project), failure))?;
            }
        }
        for (draft, lease, lower) in leases {
            work.mount(draft, lease, Some(lower))?;
        }
        // The old handle of this directory leads to what lies under the overlay.
        if let Some(here) = here {
            let _ = std::env::set_current_dir(here);
        }
        Ok(work)
    }

    /// Covers more directories, of a client whose roots have changed.
    pub fn cover(&self, directories: &[PathBuf]) -> Result<(), DraftError> {
        let known =
            |path: &PathBuf| self.covered.locked().iter().any(|covered| path.starts_with(covered.draft.project()));
        for directory in outermost(directories).into_iter().filter(|path| !known(path)) {
            let (draft, lease) = self.lease(&directory)?;
            let theirs = pair(lease.namespaces().map_err(|error| not_kept(&directory, error))?);
            if theirs.as_ref().is_some_and(|(_, mounts)| !draft::is_own_mount_namespace(mounts)) {
                return Err(DraftError::Taken { project: shown(&directory), reason: OTHER_NAMESPACE });
            }
            let lower = if theirs.is_none() { transfer::open_directory(&directory).ok() } else { None };
            self.mount(draft, lease, lower)?;
        }
        Ok(())
    }

    /// The drafts, each with both of its sides. For this process the project's path leads to the draft.
    pub fn drafts(&self) -> io::Result<Vec<(Draft, Sides)>> {
        let covered = self.covered.locked();
        let mut drafts = Vec::new();
        for Covered { draft, lower, .. } in &*covered {
            if let Some(lower) = lower {
                let upper = transfer::open_directory(&draft.upper())?;
                drafts.push((draft.clone(), Sides { upper, lower: lower.try_clone()? }));
            }
        }
        Ok(drafts)
    }

    /// Remembers the originals of what has been changed since the last time. Does nothing if that was a short while ago.
    pub fn look(&self) {
        {
            let looked = self.looked.locked();
            if looked.at.elapsed() < BETWEEN_LOOKS.max(looked.took * SHARE) {
                return;
            }
        }
        if self.looking.swap(true, Ordering::SeqCst) {
            return;
        }
        self.look_now();
        self.looking.store(false, Ordering::SeqCst);
    }

    pub fn look_now(&self) {
        let began = Instant::now();
        let covered = self.covered.locked();
        for covered in &*covered {
            let Some(lower) = &covered.lower else { continue };
            if let Err(error) = baseline::look(&covered.draft, lower) {
                tracing::warn!(%error, project = %covered.draft.project().display(), "the draft cannot be looked at");
            }
        }
        *self.looked.locked() = Looked { at: Instant::now(), took: began.elapsed() };
    }

    fn lease(&self, directory: &Path) -> Result<(Draft, LayerLease), DraftError> {
        self.check(directory)?;
        let draft = self.drafts.of(directory).map_err(|error| not_kept(directory, error))?;
        let lease = draft.lease().map_err(|error| not_kept(directory, error))?;
        let lease = lease.ok_or_else(|| DraftError::Taken { project: shown(directory), reason: OTHER_NAMESPACE })?;
        Ok((draft, lease))
    }

    /// What an overlay over this directory could not show, or would show wrongly.
    fn check(&self, directory: &Path) -> Result<(), DraftError> {
        let unsuitable = |reason: String, fix: &str| {
            Err(DraftError::Unsuitable { project: shown(directory), reason, fix: fix.to_owned() })
        };
        if self.state_dir.starts_with(directory) {
            let reason = format!("the draft would lie in it, in {}", self.state_dir.display());
            return unsuitable(reason, "set XDG_STATE_HOME to a directory outside, or name a smaller --project-dir");
        }
        if let Some(below) = draft::mounted_below(directory).first() {
            let reason = format!("a file system is mounted below it ({}), which a draft would hide", below.display());
            return unsuitable(reason, "unmount it, or name a --project-dir that has no mounts below it");
        }
        Ok(())
    }

    fn mount(&self, draft: Draft, lease: LayerLease, lower: Option<OwnedFd>) -> Result<(), DraftError> {
        let project = draft.project().to_owned();
        let theirs = lease.namespaces().map_err(|error| not_kept(&project, error))?;
        if let (true, Some(lower)) = (theirs.is_empty(), &lower) {
            settle::settle(&draft, lower).map_err(|error| not_kept(&project, error))?;
            draft::mount(&project, draft.directory()).map_err(|failure| refused(Some(&project), failure))?;
            let (users, mounts) = draft::own_namespaces().map_err(|error| not_kept(&project, error))?;
            lease.mounted(users, mounts);
        }
        self.covered.locked().push(Covered { draft, lower, _lease: lease });
        Ok(())
    }
}

fn pair(namespaces: Vec<OwnedFd>) -> Option<(OwnedFd, OwnedFd)> {
    let mut namespaces = namespaces.into_iter();
    namespaces.next().zip(namespaces.next())
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn not_kept(project: &Path, error: std::io::Error) -> DraftError {
    DraftError::NotKept { project: shown(project), error }
}

fn refused(project: Option<&PathBuf>, failure: Failure) -> DraftError {
    DraftError::Refused { project: project.map_or("the project".to_owned(), |project| shown(project)), failure }
}

/// The directories with links resolved, without those that lie in another one.
fn outermost(directories: &[PathBuf]) -> Vec<PathBuf> {
    let mut real: Vec<PathBuf> = directories.iter().filter_map(|path| path.canonicalize().ok()).collect();
    real.sort();
    real.dedup_by(|inner, outer| inner.starts_with(outer));
    real
}
