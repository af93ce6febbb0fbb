//! Carries files from one tree to another: from the draft to the project (`apply`), or from the project to the draft
//! (`discard`). Each file is made complete in a staging directory first, with its mode, owner, times and attributes. Then one
//! rename puts it in its place. A crash at any instant leaves the old file or the new one.

use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Gid, Mode, OFlags, RenameFlags, ResolveFlags, Uid, XattrFlags};
use rustix::io::Errno;

use super::compare::{same_content, target};
use super::facts::{Directory, Facts, attributes, open_file};
use super::walk::{self, Side};

/// The tree that files are carried into.
pub struct Transfer {
    root: OwnedFd,
    staging: OwnedFd,
    staging_name: OsString,
    number: u64,
    /// The directory that was used last: most files lie beside the one before.
    parent: Option<(PathBuf, OwnedFd)>,
    /// Where a file of the source with several names was put.
    placed: HashMap<u64, PathBuf>,
    /// What took the place of one of several names of a file. An overlay copies each of them for itself.
    replaced: HashMap<u64, (PathBuf, Facts)>,
    /// Directories that had to be made writable, with their modes.
    opened: Vec<(PathBuf, u32)>,
    /// Until a file could not share its blocks with a copy.
    shares_blocks: Cell<bool>,
}

/// Why a file was not carried over.
#[derive(Debug)]
pub enum NotPlaced {
    /// It was changed while it was read, several times.
    Restless,
    /// Another file has taken the place of the original.
    Overtaken,
    /// A socket or a device.
    Special,
    Failed(io::Error),
}

impl<E: Into<io::Error>> From<E> for NotPlaced {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

impl Transfer {
    /// Removes what an earlier transfer left in the staging directory: it was not complete, or is in its place by now.
    pub fn into(root: OwnedFd, staging: &str) -> io::Result<Self> {
        let staging_name = OsString::from(staging);
        remove_all(root.as_fd(), &staging_name)?;
        rustix::fs::mkdirat(&root, &*staging_name, Mode::RWXU)?;
        let staging = Directory::open(&root, &staging_name)?.stay_open()?;
        let (placed, replaced, opened) = (HashMap::new(), HashMap::new(), Vec::new());
        Ok(Self {
            root,
            staging,
            staging_name,
            number: 0,
            parent: None,
            placed,
            replaced,
            opened,
            shares_blocks: Cell::new(true),
        })
    }

    /// What stands at a path now.
    pub fn facts(&mut self, path: &Path) -> io::Result<Option<Facts>> {
        let (Some(name), Ok(())) = (path.file_name(), self.enter(path)) else { return Ok(None) };
        Facts::of(self.directory(), name)
    }

    /// Puts a file, a link or an empty directory in the place of what is there, which must be `before`.
    pub fn place(&mut self, path: &Path, from: Side<'_>, before: Option<&Facts>) -> Result<(), NotPlaced> {
        let name = path.file_name().ok_or(Errno::INVAL)?;
        self.enter(path)?;
        let staged = self.stage(name, from, before)?;
        // The last look before the rename.
        let now = Facts::of(self.directory(), name)?;
        let same = match (&now, before) {
            (None, None) => true,
            (Some(now), Some(before)) => {
                now.is_directory() == before.is_directory() && (now.is_directory() || now.is_untouched(before))
            }
            _ => false,
        };
        if !same {
            remove_all(self.staging.as_fd(), &staged)?;
            return Err(NotPlaced::Overtaken);
        }
        let directories = [now.is_some_and(|now| now.is_directory()), from.facts.is_directory()];
        let flags =
            if now.is_some() && directories.contains(&true) { RenameFlags::EXCHANGE } else { RenameFlags::empty() };
        self.writable(path, |transfer| {
            Ok(rustix::fs::renameat_with(&transfer.staging, &*staged, transfer.directory(), name, flags)?)
        })?;
        if flags == RenameFlags::EXCHANGE {
            remove_all(self.staging.as_fd(), &staged)?;
        }
        if from.facts.is_file() && from.facts.names > 1 {
            self.placed.insert(from.facts.inode, path.to_owned());
        }
        if let Some(before) = before.filter(|before| before.is_file() && before.names > 1) {
            self.replaced.entry(before.inode).or_insert_with(|| (path.to_owned(), from.facts));
        }
        Ok(())
    }

    /// Removes what stands at a path. A directory vanishes at once, with all that is in it.
    pub fn remove(&mut self, path: &Path, before: &Facts) -> Result<(), NotPlaced> {
        let name = path.file_name().ok_or(Errno::INVAL)?;
        self.enter(path)?;
        let Some(now) = Facts::of(self.directory(), name)? else { return Ok(()) };
        if now.is_directory() != before.is_directory() || !(now.is_directory() || now.is_untouched(before)) {
            return Err(NotPlaced::Overtaken);
        }
        if !now.is_directory() {
            self.writable(path, |transfer| Ok(rustix::fs::unlinkat(transfer.directory(), name, AtFlags::empty())?))?;
            return Ok(());
        }
        let staged = self.next_name();
        let moved = self.writable(path, |transfer| {
            Ok(rustix::fs::renameat(transfer.directory(), name, &transfer.staging, &*staged)?)
        });
        match moved {
            Ok(()) => Ok(remove_all(self.staging.as_fd(), &staged)?),
            // An overlay cannot rename a directory that comes from the layer below.
            Err(error) if error.raw_os_error() == Some(libc::EXDEV) => Ok(remove_all(self.directory(), name)?),
            Err(error) => Err(error.into()),
        }
    }

    /// Gives a directory its mode, owner, attributes and times.
    pub fn finish_directory(&mut self, path: &Path, from: Side<'_>, name: &OsStr) -> io::Result<()> {
        let source = Directory::open(from.directory, name)?;
        let directory = if path.as_os_str().is_empty() {
            self.root.try_clone()?
        } else {
            self.enter(path)?;
            let name = path.file_name().ok_or(Errno::INVAL)?;
            Directory::open(self.directory(), name)?.stay_open()?
        };
        self.opened.retain(|(opened, _)| opened != path);
        copy_attributes(&source, &directory, &from.facts)
    }

    /// Removes the staging directory, and sets back the modes of directories that had to be opened up.
    pub fn finish(mut self) -> io::Result<()> {
        remove_all(self.root.as_fd(), &self.staging_name)?;
        for (path, mode) in std::mem::take(&mut self.opened) {
            if let Ok(directory) = self.open_beneath(&path) {
                rustix::fs::fchmod(&directory, Mode::from_raw_mode(mode))?;
            }
        }
        // Nothing waits for the disk: the draft keeps everything until it is settled, so a crash of the machine loses nothing.
        Ok(())
    }

    fn directory(&self) -> BorrowedFd<'_> {
        self.parent.as_ref().map_or_else(|| self.root.as_fd(), |(_, directory)| directory.as_fd())
    }

    /// Opens the directory that a path is in.
    fn enter(&mut self, path: &Path) -> io::Result<()> {
        let parent = path.parent().unwrap_or(Path::new(""));
        if parent.as_os_str().is_empty() {
            self.parent = None;
        } else if self.parent.as_ref().is_none_or(|(known, _)| known != parent) {
            self.parent = Some((parent.to_owned(), self.open_beneath(parent)?));
        }
        Ok(())
    }

    fn open_beneath(&self, path: &Path) -> io::Result<OwnedFd> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        Ok(rustix::fs::openat2(&self.root, path, flags, Mode::empty(), resolve)?)
    }

    /// Tries again in a directory that its owner may not write.
    fn writable<T>(&mut self, path: &Path, work: impl Fn(&Self) -> io::Result<T>) -> io::Result<T> {
        let refused = match work(self) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => error,
            done => return done,
        };
        let facts = Facts::of_descriptor(self.directory())?;
        if facts.mode & 0o300 == 0o300
            || rustix::fs::fchmod(self.directory(), Mode::from_raw_mode(facts.mode | 0o300)).is_err()
        {
            return Err(refused);
        }
        self.opened.push((path.parent().unwrap_or(Path::new("")).to_owned(), facts.mode));
        work(self)
    }

    fn next_name(&mut self) -> OsString {
        self.number += 1;
        self.number.to_string().into()
    }

    /// Makes a complete copy in the staging directory, and returns its name there.
    fn stage(&mut self, name: &OsStr, from: Side<'_>, before: Option<&Facts>) -> Result<OsString, NotPlaced> {
        let staged = self.next_name();
        match from.facts.kind {
            FileType::Symlink => {
                rustix::fs::symlinkat(target(from, name)?, &self.staging, &*staged)?;
                let _ = own(
                    |owner, group| {
                        rustix::fs::chownat(&self.staging, &*staged, owner, group, AtFlags::SYMLINK_NOFOLLOW)
                    },
                    &from.facts,
                );
                rustix::fs::utimensat(&self.staging, &*staged, &from.facts.times(), AtFlags::SYMLINK_NOFOLLOW)?;
            }
            FileType::Directory => rustix::fs::mkdirat(&self.staging, &*staged, Mode::RWXU)?,
            FileType::Fifo => {
                rustix::fs::mknodat(&self.staging, &*staged, FileType::Fifo, Mode::from_raw_mode(from.facts.mode), 0)?;
                rustix::fs::chmodat(&self.staging, &*staged, Mode::from_raw_mode(from.facts.mode), AtFlags::empty())?;
                rustix::fs::utimensat(&self.staging, &*staged, &from.facts.times(), AtFlags::empty())?;
            }
            FileType::RegularFile => {
                if !self.link_to_other_name(name, from, before, &staged)? {
                    self.stage_file(name, from, &staged)?;
                }
            }
            _ => return Err(NotPlaced::Special),
        }
        Ok(staged)
    }

    /// Makes another name of a file that is in its place already, where the source has one file or where the original was
    /// one and both copies of it are the same. Returns `false` if there is none.
    fn link_to_other_name(
        &self,
        name: &OsStr,
        from: Side<'_>,
        before: Option<&Facts>,
        staged: &OsStr,
    ) -> io::Result<bool> {
        let placed = self.placed.get(&from.facts.inode).filter(|_| from.facts.names > 1);
        let replaced = before.and_then(|before| self.replaced.get(&before.inode));
        let replaced = replaced.filter(|(_, facts)| facts.is_like(&from.facts)).map(|(path, _)| path);
        let Some(first) = placed.or(replaced) else { return Ok(false) };
        let (Some(first_name), Some(parent)) = (first.file_name(), first.parent()) else { return Ok(false) };
        let Ok(directory) = self.open_beneath(parent) else { return Ok(false) };
        let Some(facts) = Facts::of(&directory, first_name)? else { return Ok(false) };
        let same = facts.is_like(&from.facts)
            && same_content(name, from, first_name, Side { directory: directory.as_fd(), facts })?;
        Ok(same && rustix::fs::linkat(&directory, first_name, &self.staging, staged, AtFlags::empty()).is_ok())
    }

    fn stage_file(&self, name: &OsStr, from: Side<'_>, staged: &OsStr) -> Result<(), NotPlaced> {
        const ATTEMPTS: usize = 5;
        for _ in 0..ATTEMPTS {
            let mut source = File::from(open_file(from.directory, name)?);
            let before = Facts::of_descriptor(&source)?;
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let mut copy = File::from(rustix::fs::openat(&self.staging, staged, flags, Mode::RUSR | Mode::WUSR)?);
            self.copy_bytes(&mut source, &mut copy, &before)?;
            if Facts::of_descriptor(&source)?.is_untouched(&before) {
                copy_attributes(&source, &copy, &before)?;
                return Ok(());
            }
        }
        rustix::fs::unlinkat(&self.staging, staged, AtFlags::empty())?;
        Err(NotPlaced::Restless)
    }

    /// Shares the blocks where the file system can. Holes stay holes.
    fn copy_bytes(&self, source: &mut File, copy: &mut File, facts: &Facts) -> io::Result<()> {
        if facts.size == 0 {
            return Ok(());
        }
        if self.shares_blocks.get() {
            if rustix::fs::ioctl_ficlone(&*copy, &*source).is_ok() {
                return Ok(());
            }
            self.shares_blocks.set(false);
        }
        if facts.stored < facts.size {
            return copy_with_holes(source, copy, facts);
        }
        if facts.size <= SMALL {
            // One byte more, so that a file that has grown shows.
            let mut bytes = Vec::with_capacity(usize::try_from(facts.size).unwrap_or(0) + 1);
            source.take(SMALL + 1).read_to_end(&mut bytes)?;
            return copy.write_all(&bytes);
        }
        io::copy(source, copy).map(drop)
    }
}

/// A file of this size is read as a whole.
const SMALL: u64 = 256 << 10;

/// Opens a directory by its path, as the root of a tree.
pub fn open_directory(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(CWD, path, flags, Mode::empty())?)
}

/// Owner, extended attributes, mode and times, in this order: a change of owner clears set-id bits, and a change of the
/// rest would change the times.
pub fn copy_attributes(from: impl AsFd, to: impl AsFd, facts: &Facts) -> io::Result<()> {
    let now = Facts::of_descriptor(&to)?;
    if now.owner != facts.owner {
        let _ = own(|owner, group| rustix::fs::fchown(&to, owner, group), facts);
    }
    let (wanted, present) = (attributes(&from), attributes(&to));
    if wanted != present {
        for (name, _) in present.iter().filter(|(name, _)| !wanted.iter().any(|(kept, _)| kept == name)) {
            rustix::fs::fremovexattr(&to, &name[..])?;
        }
        for (name, value) in &wanted {
            rustix::fs::fsetxattr(&to, &name[..], value, XattrFlags::empty())?;
        }
    }
    rustix::fs::fchmod(&to, Mode::from_raw_mode(facts.mode))?;
    Ok(rustix::fs::futimens(&to, &facts.times())?)
}

/// An ordinary user can give a file to their groups only. If both together fail, the group alone is tried.
fn own(change: impl Fn(Option<Uid>, Option<Gid>) -> rustix::io::Result<()>, facts: &Facts) -> rustix::io::Result<()> {
    let (owner, group) = (Uid::from_raw(facts.owner.0), Gid::from_raw(facts.owner.1));
    change(Some(owner), Some(group)).or_else(|_| change(None, Some(group)))
}

fn copy_with_holes(source: &mut File, copy: &mut File, facts: &Facts) -> io::Result<()> {
    let mut at = 0;
    while let Ok(data) = rustix::fs::seek(&*source, rustix::fs::SeekFrom::Data(at)) {
        let hole = rustix::fs::seek(&*source, rustix::fs::SeekFrom::Hole(data))?;
        source.seek(SeekFrom::Start(data))?;
        copy.seek(SeekFrom::Start(data))?;
        io::copy(&mut source.take(hole - data), copy)?;
        at = hole;
    }
    copy.flush()?;
    copy.set_len(facts.size)
}

/// Removes a name with everything below it. Follows no link.
pub fn remove_all(directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
    let flags = match Facts::of(directory, name)? {
        None => return Ok(()),
        Some(facts) if facts.is_directory() => {
            let inner = Directory::open(directory, name)?.stay_open()?;
            if facts.mode & 0o300 != 0o300 {
                rustix::fs::fchmod(&inner, Mode::RWXU)?;
            }
            walk::names_of(&inner)?.iter().try_for_each(|name| remove_all(inner.as_fd(), name))?;
            AtFlags::REMOVEDIR
        }
        Some(_) => AtFlags::empty(),
    };
    Ok(rustix::fs::unlinkat(directory, name, flags)?)
}
