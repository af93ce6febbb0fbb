//! What the originals were when the draft began to differ from them. `apply` must not overwrite what the person has changed
//! since, and the kernel does not keep the original of a file that was copied up or deleted.
//!
//! A *look* goes through the upper layer and writes down the original of every path that is new in it. Servers look after
//! commands, at most every two seconds, and before they end; so do `changes`, `apply` and `discard`. A path that is new in a
//! look has come since the look before. If its original is older than that look, it is what the draft was made from. If not,
//! the times of the copy decide: a copy that is younger than the original was made from it.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{FlockOperation, flock};

use super::facts::{Facts, Time};
use super::parents::facts_of;
use super::walk::{self, Entry};
use super::{Draft, transfer};

/// In the directory of the draft: the time of the last look, and a line for each path.
pub const FILE: &str = "originals";
const LOCK: &str = "originals.lock";

/// What a path was when the draft began to decide about it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Original {
    Absent,
    /// `gone` is when the draft deleted it, if it did. What changes in it from then on is the person's.
    Directory {
        mode: u32,
        gone: Option<Time>,
    },
    File(Version),
    /// It had changed before anybody looked, and nobody knows whether the draft knows of that.
    Unknown,
}

/// What tells one version of a file from another.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Version {
    inode: u64,
    changed: Time,
    modified: Time,
    size: u64,
    mode: u32,
    names: u32,
}

/// A path that the upper layer decides about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Known {
    original: Original,
    /// It was applied while the draft was mounted. If a command deletes it then, the kernel may leave no trace of that in the
    /// upper layer: in a directory that was new, it does not know that there is something underneath by now.
    applied: bool,
}

#[derive(Debug, Default)]
pub struct Baseline {
    looked: Time,
    known: HashMap<PathBuf, Known>,
}

/// Timestamps of files come from a clock that may be late by so much.
const CLOCK_LAG: u32 = 20_000_000;

/// For a new draft.
pub fn begin(directory: &Path) -> io::Result<()> {
    Baseline { looked: now(), known: HashMap::new() }.write(directory)
}

/// Looks, and writes down what is new.
pub fn look(draft: &Draft, lower: &OwnedFd) -> io::Result<Baseline> {
    let _turn = lock(draft.directory())?;
    let before = Baseline::read(draft.directory())?;
    let mut after = Baseline { looked: now(), known: HashMap::with_capacity(before.known.len()) };
    walk::walk(&transfer::open_directory(&draft.upper())?, lower, &mut |entry| {
        let known = before.known.get(entry.path);
        let original = match known.map(|known| known.original) {
            Some(Original::Directory { mode, gone: None }) => {
                Original::Directory { mode, gone: gone(entry, before.looked) }
            }
            Some(known) => known,
            None => first_sight(entry, before.looked),
        };
        let applied = known.is_some_and(|known| known.applied);
        after.known.insert(entry.path.to_owned(), Known { original, applied });
        Ok(())
    })?;
    for (path, known) in before.known.into_iter().filter(|(_, known)| known.applied) {
        if !after.known.contains_key(&path) && facts_of(lower.as_fd(), &path).is_some() {
            after.known.insert(path, known);
        }
    }
    after.write(draft.directory())?;
    Ok(after)
}

/// The files that are at these paths now become their originals: they were `applied`, or are the same in the draft.
pub fn renew(draft: &Draft, paths: &[(PathBuf, Option<Facts>)], applied: bool) -> io::Result<()> {
    if paths.is_empty() {
        return Ok(());
    }
    let _turn = lock(draft.directory())?;
    let mut baseline = Baseline::read(draft.directory())?;
    for (path, facts) in paths {
        let original = facts.map_or(Original::Absent, |facts| Original::of(&facts, None));
        let applied = applied || baseline.known.get(path).is_some_and(|known| known.applied);
        baseline.known.insert(path.clone(), Known { original, applied });
    }
    baseline.write(draft.directory())
}

/// The draft is not mounted, so the next mount knows everything that is underneath.
pub fn forget_applied(draft: &Draft) -> io::Result<()> {
    let _turn = lock(draft.directory())?;
    let mut baseline = Baseline::read(draft.directory())?;
    baseline.known.values_mut().for_each(|known| known.applied = false);
    baseline.write(draft.directory())
}

fn first_sight(entry: &Entry<'_>, looked: Time) -> Original {
    let Some(lower) = entry.lower else { return Original::Absent };
    if lower.facts.is_directory() {
        return Original::of(&lower.facts, gone(entry, looked));
    }
    let decided = match entry.draft() {
        Some(draft) => draft.facts.born,
        // A deletion changes the directory that it happens in.
        None => Some(entry.parent.modified),
    };
    let is_old = later(lower.facts.changed, CLOCK_LAG) <= looked;
    if is_old || decided.is_some_and(|decided| lower.facts.changed <= decided) {
        Original::of(&lower.facts, None)
    } else {
        Original::Unknown
    }
}

/// When a directory of the person's was deleted or replaced. `None` while the draft still shows it.
fn gone(entry: &Entry<'_>, looked: Time) -> Option<Time> {
    let shown = entry.draft().is_some_and(|draft| draft.facts.is_directory());
    (!shown).then(|| entry.parent.modified.max(looked))
}

fn later(time: Time, nanoseconds: u32) -> Time {
    const SECOND: u32 = 1_000_000_000;
    let sum = time.1 + nanoseconds;
    (time.0 + i64::from(sum / SECOND), sum % SECOND)
}

impl Original {
    fn of(facts: &Facts, gone: Option<Time>) -> Self {
        if facts.is_directory() { Self::Directory { mode: facts.mode, gone } } else { Self::File(Version::of(facts)) }
    }

    /// Whether the person's side still is what it was.
    pub fn is(self, now: Option<&Facts>) -> bool {
        match (self, now) {
            (Self::Absent, None) => true,
            (Self::Directory { mode, .. }, Some(now)) => now.is_directory() && now.mode == mode,
            (Self::File(before), Some(now)) => !now.is_directory() && before.is_still(Version::of(now)),
            _ => false,
        }
    }

    /// Whether a copy in the draft was never written to: copying up keeps the time of the last change.
    pub fn is_only_copied(self, copy: &Facts) -> bool {
        matches!(self, Self::File(before) if (before.modified, before.size) == (copy.modified, copy.size))
    }

    fn text(self) -> String {
        match self {
            Self::Absent => "-".to_owned(),
            Self::Unknown => "?".to_owned(),
            Self::Directory { mode, gone: None } => format!("d {mode}"),
            Self::Directory { mode, gone: Some(gone) } => format!("d {mode} {} {}", gone.0, gone.1),
            Self::File(Version { inode, changed, modified, size, mode, names }) => {
                format!("f {inode} {} {} {} {} {size} {mode} {names}", changed.0, changed.1, modified.0, modified.1)
            }
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let fields: Vec<&str> = text.split(' ').collect();
        let number = |index: usize| fields.get(index)?.parse::<i64>().ok();
        let time = |index: usize| Some((number(index)?, u32::try_from(number(index + 1)?).ok()?));
        Some(match fields[0] {
            "-" => Self::Absent,
            "?" => Self::Unknown,
            "d" => Self::Directory { mode: u32::try_from(number(1)?).ok()?, gone: time(2) },
            "f" => Self::File(Version {
                inode: fields.get(1)?.parse().ok()?,
                changed: time(2)?,
                modified: time(4)?,
                size: fields.get(6)?.parse().ok()?,
                mode: fields.get(7)?.parse().ok()?,
                names: fields.get(8)?.parse().ok()?,
            }),
            _ => return None,
        })
    }
}

impl Version {
    fn of(facts: &Facts) -> Self {
        let Facts { inode, changed, modified, size, mode, names, .. } = *facts;
        Self { inode, changed, modified, size, mode, names }
    }

    /// As [`Facts::is_untouched`].
    fn is_still(self, now: Self) -> bool {
        let known = |version: Self| (version.inode, version.size, version.modified, version.mode);
        known(self) == known(now) && (self.changed == now.changed || self.names != now.names)
    }
}

impl Baseline {
    /// What a path was. A path that no look has seen has come just now.
    pub fn original(&self, path: &Path) -> Option<Original> {
        self.known.get(path).map(|known| known.original)
    }

    /// What was applied while the draft was mounted.
    pub fn applied(&self) -> impl Iterator<Item = (&Path, Original)> {
        self.known.iter().filter(|(_, known)| known.applied).map(|(path, known)| (&**path, known.original))
    }

    fn read(directory: &Path) -> io::Result<Self> {
        let mut bytes = Vec::new();
        match File::open(directory.join(FILE)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            opened => opened?.read_to_end(&mut bytes)?,
        };
        let mut records = bytes.split(|byte| *byte == 0);
        let looked = records.next().and_then(|record| std::str::from_utf8(record).ok()?.parse::<i64>().ok());
        let looked = looked
            .map_or((0, 0), |nanos| (nanos / 1_000_000_000, u32::try_from(nanos % 1_000_000_000).unwrap_or_default()));
        let mut known = HashMap::new();
        while let (Some(facts), Some(path)) = (records.next(), records.next()) {
            let (applied, facts) = facts.strip_prefix(b"+").map_or((false, facts), |rest| (true, rest));
            let original = std::str::from_utf8(facts).ok().and_then(Original::parse).unwrap_or(Original::Unknown);
            known.insert(PathBuf::from(OsString::from_vec(path.to_vec())), Known { original, applied });
        }
        Ok(Self { looked, known })
    }

    /// Puts it in place at once: a crash leaves the old one or the new one.
    fn write(&self, directory: &Path) -> io::Result<()> {
        let mut bytes = (self.looked.0 * 1_000_000_000 + i64::from(self.looked.1)).to_string().into_bytes();
        for (path, known) in &self.known {
            bytes.push(0);
            bytes.extend(if known.applied { &b"+"[..] } else { b"" });
            bytes.extend(known.original.text().bytes());
            bytes.push(0);
            bytes.extend(path.as_os_str().as_bytes());
        }
        let new = directory.join(format!("{FILE}.new"));
        File::options().write(true).create(true).truncate(true).mode(0o600).open(&new)?.write_all(&bytes)?;
        std::fs::rename(new, directory.join(FILE))
    }
}

fn lock(directory: &Path) -> io::Result<File> {
    let file =
        File::options().read(true).write(true).create(true).truncate(false).mode(0o600).open(directory.join(LOCK))?;
    flock(&file, FlockOperation::LockExclusive)?;
    Ok(file)
}

fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (i64::try_from(since.as_secs()).unwrap_or_default(), since.subsec_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_down_is_read_again() {
        let version = Version { inode: 7, changed: (1, 2), modified: (-3, 4), size: 5, mode: 0o644, names: 2 };
        let originals = [
            Original::Absent,
            Original::Unknown,
            Original::Directory { mode: 0o755, gone: None },
            Original::Directory { mode: 0o700, gone: Some((5, 6)) },
            Original::File(version),
        ];
        let world = tempfile::tempdir().unwrap();
        let name = |index: usize| {
            PathBuf::from(OsString::from_vec(vec![b'a', 0xff, b'\n', b'0' + u8::try_from(index).unwrap()]))
        };
        let entry = |(index, original): (usize, &Original)| {
            (name(index), Known { original: *original, applied: index % 2 == 0 })
        };
        let known = originals.iter().enumerate().map(entry).collect();
        Baseline { looked: (12, 34), known }.write(world.path()).unwrap();
        let read = Baseline::read(world.path()).unwrap();
        assert_eq!(read.looked, (12, 34));
        assert_eq!(read.applied().count(), 3);
        for (index, original) in originals.into_iter().enumerate() {
            assert_eq!(read.original(&name(index)), Some(original));
        }
    }

    #[test]
    fn a_file_that_only_lost_a_name_is_still_the_same() {
        let version = Version { inode: 7, changed: (1, 2), modified: (3, 4), size: 5, mode: 0o644, names: 2 };
        assert!(version.is_still(Version { changed: (9, 9), names: 1, ..version }));
        assert!(!version.is_still(Version { changed: (9, 9), ..version }));
        assert!(!version.is_still(Version { size: 6, ..version }));
    }
}
