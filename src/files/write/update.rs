//! Reads a file, decides on new content and writes it back, without losing another writer's work.
//!
//! Servers take turns: a server that changes a file holds a lock on it (flock). Once it has the lock it checks that the
//! name still belongs to the locked file, because the server before it may have replaced the file. Editors and commands
//! take no lock. So right before the new content is put in place, the file must be unchanged since it was read; if it is
//! not, everything is done again with the current content.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, OFlags, Stat};
use rustix::io::Errno;

use super::atomic::{self, Outcome, Replaced};
use crate::files::seen::Signature;
use crate::files::{FileError, Scope, Target, WriteFile};
use crate::gate::Permitted;

/// A file that keeps changing is tried at least this often, and again until [`PATIENCE`] runs out, so that several servers
/// that edit one file all get their turn.
const ATTEMPTS: usize = 8;
/// How long to wait for another holder of the lock. Programs also lock files for reasons of their own. After this time the
/// file is changed without the lock, and the check before the rename must be enough.
const PATIENCE: Duration = Duration::from_secs(5);

/// A file as it is while it is locked.
#[derive(Debug)]
pub struct CurrentFile {
    /// Empty when the file does not exist, or when `wanted` said not to read it.
    pub content: Vec<u8>,
    /// `None` when the file does not exist.
    pub stat: Option<Stat>,
}

/// A file that was written.
#[derive(Debug)]
pub struct Updated<T> {
    /// `None` if the file was never in memory as a whole.
    pub content: Option<Vec<u8>>,
    pub stat: Stat,
    /// What the agent should know about the write.
    pub notes: Vec<String>,
    /// What `decide` returned beside the content.
    pub decision: T,
}

/// Why nothing was written. The file is no longer locked.
#[derive(Debug)]
pub enum NotUpdated<R> {
    /// `decide` refused to change this file.
    Refused(R, Box<CurrentFile>),
    Failed(FileError),
}

impl<R> From<FileError> for NotUpdated<R> {
    fn from(error: FileError) -> Self {
        Self::Failed(error)
    }
}

/// Writes a new file from the old one, piece by piece.
pub type Rewrite = Box<dyn Fn(&File, &mut File) -> io::Result<()>>;

/// Asks `decide` for the new content and puts it in place. `rewrite` is asked first, for an edit that does not need the
/// whole file in memory. `wanted` is given the size of an existing file and says whether to read it at all. All run while the
/// file is locked, so they must be quick. `decide` may make the new content out of the old one; if it refuses, it leaves the
/// old one as it was.
pub fn update<T, R>(
    permitted: &Permitted<WriteFile>,
    scope: &Scope,
    rewrite: impl Fn(&File, &Stat) -> io::Result<Option<(Rewrite, T)>>,
    wanted: impl Fn(u64) -> Result<bool, FileError>,
    decide: impl Fn(&mut CurrentFile) -> Result<(Vec<u8>, T), R>,
) -> Result<Updated<T>, NotUpdated<R>> {
    let requested = permitted.requested.text();
    let mut found_again = None;
    let (mut attempts, end) = (0, Instant::now() + PATIENCE);
    while attempts < ATTEMPTS || Instant::now() < end {
        attempts += 1;
        let target = found_again.as_ref().unwrap_or(&permitted.target);
        if let Some(updated) = attempt(target, requested, &rewrite, &wanted, &decide)? {
            return Ok(updated);
        }
        let found = Target::find(scope, &permitted.requested)?;
        if found.path() != permitted.target.path() {
            // The permission was given for another file.
            break;
        }
        found_again = Some(found);
    }
    Err(FileError::Contended { path: requested.to_owned() }.into())
}

/// One attempt; `None` if somebody else changed the file meanwhile.
fn attempt<T, R>(
    target: &Target,
    requested: &str,
    rewrite: &impl Fn(&File, &Stat) -> io::Result<Option<(Rewrite, T)>>,
    wanted: &impl Fn(u64) -> Result<bool, FileError>,
    decide: &impl Fn(&mut CurrentFile) -> Result<(Vec<u8>, T), R>,
) -> Result<Option<Updated<T>>, NotUpdated<R>> {
    let failed = |error: std::io::Error| FileError::os("write", requested, error);
    let decide = |mut current: CurrentFile| match decide(&mut current) {
        Ok(decided) => Ok(decided),
        Err(refusal) => Err(NotUpdated::Refused(refusal, Box::new(current))),
    };
    let Some(existing) = target.existing() else {
        let (content, decision) = decide(CurrentFile { content: Vec::new(), stat: None })?;
        let directory =
            target.make_parents().map_err(|error| FileError::os("make the directories of", requested, error))?;
        let fill = |draft: &mut File| draft.write_all(&content);
        let outcome = atomic::write(directory.as_fd(), target.name(), fill, None, || true).map_err(failed)?;
        return Ok(finish(outcome, 1, Some(content), decision));
    };
    // Nothing is written through this handle. Write access is still asked for, so that a file that may not be written is not
    // replaced either.
    let file = match existing.open(requested, OFlags::RDWR) {
        Err(FileError::Os { error, .. }) if error.raw_os_error() == Some(libc::ETXTBSY) => {
            existing.open(requested, OFlags::RDONLY)?
        }
        other => other?,
    };
    lock(&file);
    let stat = rustix::fs::fstat(&file).map_err(|error| failed(error.into()))?;
    if !target.still_names(&stat) {
        return Ok(None);
    }
    let unreadable = |error| FileError::os("read", requested, error);
    let unchanged = || {
        target.still_names(&stat)
            && rustix::fs::fstat(&file).is_ok_and(|now| Signature::of(&now) == Signature::of(&stat))
    };
    let put = |fill: &dyn Fn(&mut File) -> io::Result<()>| {
        let replaced = Replaced { file: &file, stat: &stat };
        atomic::write(target.directory(), target.name(), fill, Some(&replaced), unchanged).map_err(failed)
    };
    if let Some((rewrite, decision)) = rewrite(&file, &stat).map_err(unreadable)? {
        return Ok(finish(put(&|draft| rewrite(&file, draft))?, stat.st_nlink, None, decision));
    }
    let mut content = Vec::new();
    if wanted(u64::try_from(stat.st_size).unwrap_or(0))? {
        (&file).read_to_end(&mut content).map_err(unreadable)?;
    }
    let (content, decision) = decide(CurrentFile { content, stat: Some(stat) })?;
    Ok(finish(put(&|draft| draft.write_all(&content))?, stat.st_nlink, Some(content), decision))
}

/// `None` if another writer was faster.
fn finish<T>(outcome: Outcome, links: u64, content: Option<Vec<u8>>, decision: T) -> Option<Updated<T>> {
    let Outcome::Written { stat, lost, unsynced } = outcome else { return None };
    let mut notes = Vec::new();
    if links > 1 {
        notes.push(format!(
            "The file had {links} names (hard links). This one now has a file of its own; the others keep the old content."
        ));
    }
    if !lost.is_empty() {
        notes.push(format!("Not kept, because the server lacks the rights: {}.", lost.join(", ")));
    }
    if let Some(error) = unsynced {
        notes.push(format!(
            "The content is in place, but the directory could not be synced to disk ({error}). After a power failure the \
             old content may be back."
        ));
    }
    Some(Updated { content, stat, notes, decision })
}

fn lock(file: &File) {
    let end = Instant::now() + PATIENCE;
    while rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK)
        && Instant::now() < end
    {
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::{DenyGlobs, RequestedPath, Root};

    /// Explaining a refusal can take long, so it must not keep other writers waiting.
    #[test]
    fn the_file_is_locked_while_deciding_and_no_longer_after_a_refusal() {
        let world = tempfile::tempdir().unwrap();
        let path = world.path().join("f");
        std::fs::write(&path, "content").unwrap();
        let is_locked = || {
            let other = File::open(&path).unwrap();
            rustix::fs::flock(&other, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK)
        };
        let scope = Scope::new(vec![Root::as_written(world.path()).unwrap()], DenyGlobs::new(&[], None).unwrap());
        let requested = RequestedPath::new("f", world.path(), None).unwrap();
        let target = Target::find(&scope, &requested).unwrap();
        let refuse = |current: &mut CurrentFile| {
            assert_eq!((&current.content[..], is_locked()), (&b"content"[..], true));
            Err::<(Vec<u8>, ()), _>("no")
        };
        let result = attempt(&target, "f", &|_, _| Ok(None), &|_| Ok(true), &refuse);
        assert!(matches!(result, Err(NotUpdated::Refused("no", current)) if current.content == b"content"));
        assert!(!is_locked());
        assert_eq!(std::fs::read(&path).unwrap(), b"content");
    }
}
