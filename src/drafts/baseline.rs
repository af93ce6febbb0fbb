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
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{FlockOperation, flock};

use super::facts::{Facts, Time};
use super::walk::{self, Entry};
use super::{Draft, transfer};

/// In the directory of the draft: the time of the last look, and a line for each path.
pub const FILE: &str = "originals";
const LOCK: &str = "originals.lock";

/// What a path was when the draft began to decide about it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Original {
    Absent,
    /// The time is that from which on a change in it is the person's.
    Directory {
        mode: u32,
        at: Time,
    },
    File {
        inode: u64,
        changed: Time,
        modified: Time,
        size: u64,
    },
    /// It had changed before anybody looked, and nobody knows whether the draft knows of that.
    Unknown,
}

#[derive(Debug, Default)]
pub struct Baseline {
    looked: Time,
    known: HashMap<PathBuf, Original>,
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
        let original =
            before.known.get(entry.path).copied().unwrap_or_else(|| first_sight(entry, before.looked));
        after.known.insert(entry.path.to_owned(), original);
        Ok(())
    })?;
    after.write(draft.directory())?;
    Ok(after)
}

/// The originals of these paths are what stands there now: they were applied, or are the same in the draft.
pub fn renew(draft: &Draft, paths: &[(PathBuf, Option<Facts>)]) -> io::Result<()> {
    if paths.is_empty() {
        return Ok(());
    }
    let _turn = lock(draft.directory())?;
    let mut baseline = Baseline::read(draft.directory())?;
    for (path, facts) in paths {
        baseline.known.insert(path.clone(), facts.map_or(Original::Absent, |facts| Original::of(&facts, now())));
    }
    baseline.write(draft.directory())
}

fn first_sight(entry: &Entry<'_>, looked: Time) -> Original {
    let Some(lower) = entry.lower else { return Original::Absent };
    let decided = match entry.draft() {
        Some(draft) if !draft.facts.is_directory() => draft.facts.born,
        // A deletion changes the directory that it happens in.
        _ => Some(entry.parent.modified),
    };
    if lower.facts.is_directory() {
        // A directory that is merged with the person's hides nothing, so only its mode matters.
        return Original::of(&lower.facts, decided.unwrap_or(looked).max(looked));
    }
    let is_old = (lower.facts.changed.0, lower.facts.changed.1.saturating_add(CLOCK_LAG)) <= looked;
    if is_old || decided.is_some_and(|decided| lower.facts.changed <= decided) {
        Original::of(&lower.facts, looked)
    } else {
        Original::Unknown
    }
}

impl Original {
    fn of(facts: &Facts, at: Time) -> Self {
        if facts.is_directory() {
            Self::Directory { mode: facts.mode, at }
        } else {
            Self::File { inode: facts.inode, changed: facts.changed, modified: facts.modified, size: facts.size }
        }
    }

    /// Whether the person's side still is what it was.
    pub fn is(self, now: Option<&Facts>) -> bool {
        match (self, now) {
            (Self::Absent, None) => true,
            (Self::Directory { mode, .. }, Some(now)) => now.is_directory() && now.mode == mode,
            (Self::File { inode, changed, size, .. }, Some(now)) => {
                !now.is_directory() && (inode, changed, size) == (now.inode, now.changed, now.size)
            }
            _ => false,
        }
    }

    /// Whether a copy in the draft was never written to: copying up keeps the time of the last change.
    pub fn is_only_copied(self, copy: &Facts) -> bool {
        matches!(self, Self::File { modified, size, .. } if (modified, size) == (copy.modified, copy.size))
    }

    fn text(self) -> String {
        match self {
            Self::Absent => "-".to_owned(),
            Self::Unknown => "?".to_owned(),
            Self::Directory { mode, at } => format!("d {mode} {} {}", at.0, at.1),
            Self::File { inode, changed, modified, size } => {
                format!("f {inode} {} {} {} {} {size}", changed.0, changed.1, modified.0, modified.1)
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
            "d" => Self::Directory { mode: u32::try_from(number(1)?).ok()?, at: time(2)? },
            "f" => Self::File {
                inode: fields.get(1)?.parse().ok()?,
                changed: time(2)?,
                modified: time(4)?,
                size: fields.get(6)?.parse().ok()?,
            },
            _ => return None,
        })
    }
}

impl Baseline {
    /// What a path was. A path that no look has seen has come just now.
    pub fn original(&self, path: &Path) -> Option<Original> {
        self.known.get(path).copied()
    }

    fn read(directory: &Path) -> io::Result<Self> {
        let mut bytes = Vec::new();
        match File::open(directory.join(FILE)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            opened => opened?.read_to_end(&mut bytes)?,
        };
        let mut records = bytes.split(|byte| *byte == 0);
        let looked = records.next().and_then(|record| std::str::from_utf8(record).ok()?.parse::<i64>().ok());
        let looked = looked.map_or((0, 0), |nanos| (nanos / 1_000_000_000, (nanos % 1_000_000_000) as u32));
        let mut known = HashMap::new();
        while let (Some(facts), Some(path)) = (records.next(), records.next()) {
            let original = std::str::from_utf8(facts).ok().and_then(Original::parse).unwrap_or(Original::Unknown);
            known.insert(PathBuf::from(OsString::from_vec(path.to_vec())), original);
        }
        Ok(Self { looked, known })
    }

    /// Puts it in place at once: a crash leaves the old one or the new one.
    fn write(&self, directory: &Path) -> io::Result<()> {
        let mut bytes = (self.looked.0 * 1_000_000_000 + i64::from(self.looked.1)).to_string().into_bytes();
        for (path, original) in &self.known {
            bytes.push(0);
            bytes.extend(original.text().bytes());
            bytes.push(0);
            bytes.extend(path.as_os_str().as_bytes());
        }
        let new = directory.join(format!("{FILE}.new"));
        File::options().write(true).create(true).truncate(true).mode(0o600).open(&new)?.write_all(&bytes)?;
        std::fs::rename(new, directory.join(FILE))
    }
}

fn lock(directory: &Path) -> io::Result<File> {
    let file = File::options().read(true).write(true).create(true).truncate(false).mode(0o600).open(directory.join(LOCK))?;
    flock(&file, FlockOperation::LockExclusive)?;
    Ok(file)
}

fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (i64::try_from(since.as_secs()).unwrap_or_default(), since.subsec_nanos())
}
