//! The files of the log: `audit.jsonl`, to which every server of the user appends, and `audit.jsonl.1`, `.2` … with what was
//! put aside when it became too large. Whatever changes them holds the lock of `audit.lock`.

use std::fs::{DirBuilder, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::chain::{Tip, tip_of};
use super::head::Head;

pub const FILE: &str = "audit.jsonl";
const LOCK: &str = "audit.lock";

#[derive(Debug)]
pub struct Store {
    directory: PathBuf,
    max_size: u64,
    keep: u32,
    left: Option<Left>,
    /// What we have written since the last [`Store::sync`].
    unsynced: Option<Tip>,
}

/// The log as we left it. If nobody else has written since, its end is known. It is not held open: a server may have few
/// descriptors, and its commands need them.
#[derive(Clone, Debug)]
struct Left {
    identity: (u64, u64),
    size: u64,
    tip: Tip,
}

/// One file of the log, as it was when it was opened. Servers may append to it or put it aside meanwhile.
pub struct Part {
    pub path: PathBuf,
    pub file: File,
    pub size: u64,
}

/// The files of the log that exist, the oldest first.
pub fn files(directory: &Path) -> Vec<PathBuf> {
    let aside = (1..).map(|number| aside(directory, number)).take_while(|path| path.exists());
    let mut all: Vec<PathBuf> = [directory.join(FILE)].into_iter().filter(|path| path.exists()).chain(aside).collect();
    all.reverse();
    all
}

/// The bytes of all files of the log.
pub fn size(directory: &Path) -> u64 {
    files(directory).iter().filter_map(|path| path.metadata().ok()).map(|found| found.len()).sum()
}

/// Whether the log could be written. Writes nothing.
pub fn try_out(directory: &Path) -> io::Result<()> {
    match File::options().append(true).open(directory.join(FILE)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        opened => return opened.map(drop),
    }
    // The log will be made below the nearest directory that exists.
    let existing = directory.ancestors().find(|path| path.exists()).unwrap_or(directory);
    Ok(rustix::fs::access(existing, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK)?)
}

/// All files of the log at one moment, the oldest first, and the head that belongs to them. Writers wait only for the
/// opening.
pub fn open_all(directory: &Path) -> io::Result<(Vec<Part>, io::Result<Option<Head>>)> {
    let lock = File::open(directory.join(LOCK));
    if let Ok(lock) = &lock {
        flock(lock, FlockOperation::LockShared)?;
    }
    let open = |path: PathBuf| {
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        let file = File::open(&path).map_err(named)?;
        let size = file.metadata().map_err(named)?.len();
        Ok(Part { path, file, size })
    };
    let parts: io::Result<Vec<Part>> = files(directory).into_iter().map(open).collect();
    Ok((parts?, Head::read(directory)))
}

impl Store {
    pub fn new(directory: PathBuf, max_size: u64, keep: u32) -> Self {
        Self { directory, max_size, keep: keep.max(1), left: None, unsynced: None }
    }

    /// Appends lines with these members, all of them or none.
    pub fn append(&mut self, lines: &[String]) -> io::Result<()> {
        let _lock = self.lock()?;
        let (mut file, mut left) = self.open()?;
        let mut text = String::new();
        let size = left.size;
        lines.iter().for_each(|line| left.tip.link(line, &mut text));
        self.left = None;
        if let Err(error) = file.write_all(text.as_bytes()) {
            // A full disk may take a part of it. A torn line must not stay.
            let _ = file.set_len(size);
            return Err(error);
        }
        left.size += text.len() as u64;
        self.unsynced = Some(left.tip.clone());
        if left.size >= self.max_size {
            return self.put_aside(&file, left.tip);
        }
        self.left = Some(left);
        Ok(())
    }

    /// Brings what was written to the disk.
    pub fn sync(&mut self) -> io::Result<()> {
        let Some(tip) = self.unsynced.take() else { return Ok(()) };
        let _lock = self.lock()?;
        // If it was put aside meanwhile, it is on the disk, and the head says so.
        match File::open(self.path()) {
            Ok(file) => file.sync_data()?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        }
        let head = Head::read(&self.directory).ok().flatten().unwrap_or_default();
        if head.seq < tip.seq {
            Head { seq: tip.seq, hash: tip.hash, ..head }.write(&self.directory)?;
        }
        Ok(())
    }

    fn path(&self) -> PathBuf {
        self.directory.join(FILE)
    }

    fn lock(&self) -> io::Result<File> {
        let open = || {
            File::options()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .open(self.directory.join(LOCK))
        };
        let lock = open().or_else(|_| {
            DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)?;
            open()
        })?;
        flock(&lock, FlockOperation::LockExclusive)?;
        Ok(lock)
    }

    /// Opens the log and looks for its end. The torn line of a server that was killed while it wrote is removed.
    fn open(&self) -> io::Result<(File, Left)> {
        let no_links = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or_default();
        let options = |file: &mut std::fs::OpenOptions| {
            file.read(true).append(true).create(true).mode(0o600).custom_flags(no_links).open(self.path())
        };
        let file = options(&mut File::options())?;
        let found = file.metadata()?;
        let identity = (found.dev(), found.ino());
        if let Some(left) = self.left.as_ref().filter(|left| (left.identity, left.size) == (identity, found.len())) {
            return Ok((file, left.clone()));
        }
        if !found.is_file() {
            return Err(io::Error::other(format!("{} is not a file", self.path().display())));
        }
        if found.mode() & 0o077 != 0 {
            file.set_permissions(Permissions::from_mode(0o600))?;
        }
        let head = match Head::read(&self.directory) {
            Ok(Some(head)) => head,
            // It exists before the first line, so that its absence means something.
            Ok(None) if found.len() == 0 && !aside(&self.directory, 1).exists() => {
                Head::default().write(&self.directory)?;
                Head::default()
            }
            Ok(None) | Err(_) => Head::default(),
        };
        let (last, size) = last_line(&file)?;
        if size < found.len() {
            file.set_len(size)?;
        }
        let before = || File::open(aside(&self.directory, 1)).and_then(|file| last_line(&file)).ok()?.0;
        let tip = last.or_else(before).map_or_else(|| head.tip(), |line| tip_of(&line, head.seq));
        Ok((file, Left { identity, size, tip }))
    }

    /// Begins a new file. The oldest one goes if there are too many. The caller holds the lock.
    fn put_aside(&mut self, file: &File, tip: Tip) -> io::Result<()> {
        file.sync_data()?;
        self.unsynced = None;
        let mut head = Head::read(&self.directory).ok().flatten().unwrap_or_default();
        (head.seq, head.hash) = (tip.seq, tip.hash);
        let oldest = aside(&self.directory, self.keep);
        if oldest.exists() {
            // Written first: a crash in between leaves more than the head says, never less.
            let next = (1..self.keep).rev().map(|number| aside(&self.directory, number)).find(|path| path.exists());
            head.oldest = first_number(&next.unwrap_or_else(|| self.path())).unwrap_or(head.oldest);
        }
        head.write(&self.directory)?;
        for number in (1..self.keep).rev() {
            let from = aside(&self.directory, number);
            if from.exists() {
                std::fs::rename(from, aside(&self.directory, number + 1))?;
            }
        }
        std::fs::rename(self.path(), aside(&self.directory, 1))
    }
}

fn aside(directory: &Path, number: u32) -> PathBuf {
    directory.join(format!("{FILE}.{number}"))
}

/// The number of the first line in a file.
fn first_number(path: &Path) -> Option<u64> {
    let mut begin = [0; 32];
    let count = File::open(path).ok()?.read_at(&mut begin, 0).ok()?;
    let text = std::str::from_utf8(&begin[..count]).ok()?;
    text.strip_prefix("{\"seq\":")?.split(',').next()?.parse().ok()
}

/// The last whole line without its newline, and the size of the file up to its end.
fn last_line(file: &File) -> io::Result<(Option<Vec<u8>>, u64)> {
    let size = file.metadata()?.len();
    let mut window = 64 * 1024;
    loop {
        let from = size.saturating_sub(window);
        let mut bytes = vec![0; usize::try_from(size - from).unwrap_or_default()];
        file.read_exact_at(&mut bytes, from)?;
        let end = memchr::memrchr(b'\n', &bytes);
        let begin = end.and_then(|end| memchr::memrchr(b'\n', &bytes[..end]));
        match (begin, end) {
            (Some(begin), Some(end)) => return Ok((Some(bytes[begin + 1..end].to_vec()), from + end as u64 + 1)),
            (None, Some(end)) if from == 0 => return Ok((Some(bytes[..end].to_vec()), end as u64 + 1)),
            (None, None) if from == 0 => return Ok((None, 0)),
            _ => window *= 8,
        }
    }
}
