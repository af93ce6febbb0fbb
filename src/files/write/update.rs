//! Reading a file, deciding, and writing it back, such that nobody's edit in between is lost.
//!
//! Servers take turns: whoever changes a file holds a lock on it (flock) and, once it has the lock, makes sure that the
//! name still leads to the file it locked, because the one before may have replaced it. Editors and commands take no
//! lock, so right before the new content takes its place the file must still be as it was read; if not, all is done
//! again with what stands there now.

use std::fs::File;
use std::io::Read;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, OFlags, Stat};
use rustix::io::Errno;

use super::atomic::{self, Old, Outcome};
use crate::files::scope::is_still;
use crate::files::seen::seen_files::Signature;
use crate::files::{FileError, Scope, Target, WriteFile};
use crate::gate::Permitted;

/// How often a changing file is tried at least, and again for as long as there is patience: several servers that edit one
/// file all get their turn.
const ATTEMPTS: usize = 8;
/// How long another holder of the lock is waited for. Programs lock files for reasons of their own; after that the
/// check before the rename has to do.
const PATIENCE: Duration = Duration::from_secs(5);

/// A file that may be changed, as it stands.
pub struct Current<'a> {
    /// Empty when the file does not exist, or was not to be read.
    pub content: Vec<u8>,
    pub stat: Option<&'a Stat>,
}

/// What was written.
#[derive(Debug)]
pub struct Updated<T> {
    pub content: Vec<u8>,
    pub stat: Stat,
    /// What the agent should know besides.
    pub notes: Vec<String>,
    /// Whatever the decision wanted to pass on.
    pub decision: T,
}

/// Asks `decide` for the new content and puts it in place. `wanted` says by its size whether an existing file is to be
/// read at all.
pub fn update<T>(
    permitted: &Permitted<WriteFile>,
    scope: &Scope,
    wanted: impl Fn(u64) -> Result<bool, FileError>,
    mut decide: impl FnMut(&Current<'_>) -> Result<(Vec<u8>, T), FileError>,
) -> Result<Updated<T>, FileError> {
    let asked = permitted.asked.text();
    let mut again = None;
    let (mut attempts, end) = (0, Instant::now() + PATIENCE);
    while attempts < ATTEMPTS || Instant::now() < end {
        attempts += 1;
        let target = again.as_ref().unwrap_or(&permitted.target);
        if let Some(changed) = attempt(target, asked, &wanted, &mut decide)? {
            return Ok(changed);
        }
        let found = Target::find(scope, &permitted.asked)?;
        if found.path() != permitted.target.path() {
            // The permission was for another file.
            break;
        }
        again = Some(found);
    }
    Err(FileError::Contended { path: asked.to_owned() })
}

/// One try; `None` when the place changed under it.
fn attempt<T>(
    target: &Target,
    asked: &str,
    wanted: &impl Fn(u64) -> Result<bool, FileError>,
    decide: &mut impl FnMut(&Current<'_>) -> Result<(Vec<u8>, T), FileError>,
) -> Result<Option<Updated<T>>, FileError> {
    let failed = |error: std::io::Error| FileError::os("write", asked, error);
    let Some(existing) = target.existing() else {
        let (content, decision) = decide(&Current { content: Vec::new(), stat: None })?;
        let directory =
            target.make_parents().map_err(|error| FileError::os("make the directories of", asked, error))?;
        let outcome = atomic::write(std::os::fd::AsFd::as_fd(&directory), target.name(), &content, None, || true);
        return finish(outcome.map_err(failed)?, asked, 1, content, decision);
    };
    // Write access is asked for although nothing is written through it: a file that is protected from writing stays so.
    let mut file = match existing.open(asked, OFlags::RDWR) {
        Err(FileError::Os { error, .. }) if error.raw_os_error() == Some(libc::ETXTBSY) => {
            existing.open(asked, OFlags::RDONLY)?
        }
        other => other?,
    };
    lock(&file);
    let stat = rustix::fs::fstat(&file).map_err(|error| failed(error.into()))?;
    if !is_still(target.directory(), target.name(), &stat) {
        return Ok(None);
    }
    let mut content = Vec::new();
    if wanted(u64::try_from(stat.st_size).unwrap_or(0))? {
        file.read_to_end(&mut content).map_err(|error| FileError::os("read", asked, error))?;
    }
    let (content, decision) = decide(&Current { content, stat: Some(&stat) })?;
    let unchanged = || {
        is_still(target.directory(), target.name(), &stat)
            && rustix::fs::fstat(&file).is_ok_and(|now| Signature::of(&now) == Signature::of(&stat))
    };
    let old = Old { file: &file, stat: &stat };
    let outcome = atomic::write(target.directory(), target.name(), &content, Some(&old), unchanged);
    finish(outcome.map_err(failed)?, asked, stat.st_nlink, content, decision)
}

fn finish<T>(
    outcome: Outcome,
    asked: &str,
    names: u64,
    content: Vec<u8>,
    decision: T,
) -> Result<Option<Updated<T>>, FileError> {
    let Outcome::Written { file, lost } = outcome else { return Ok(None) };
    let stat = rustix::fs::fstat(&file).map_err(|error| FileError::os("look at", asked, error))?;
    let mut notes = Vec::new();
    if names > 1 {
        notes.push(format!(
            "The file had {names} names (hard links). This one now has a file of its own; the others keep the old content."
        ));
    }
    if !lost.is_empty() {
        notes.push(format!("Could not be kept, for lack of rights: {}.", lost.join(", ")));
    }
    Ok(Some(Updated { content, stat, notes, decision }))
}

fn lock(file: &File) {
    let end = Instant::now() + PATIENCE;
    while rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK)
        && Instant::now() < end
    {
        std::thread::sleep(Duration::from_millis(2));
    }
}
