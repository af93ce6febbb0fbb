//! Moves a directory that an overlay does not rename. A new tree of directories gets a second name of every file (which
//! copies the file up). One rename puts the new tree in its place, and then the old names go. So a crash at any instant
//! leaves the old tree, or both; no content is ever without a name.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, Dir, FileType, Gid, Mode, OFlags, RenameFlags, Stat, StatxFlags, Timespec, Timestamps, Uid, XattrFlags,
    fstatfs, linkat, mkdirat, openat, renameat_with, statat, unlinkat,
};
use rustix::io::{Errno, Result};

use crate::sandbox::draft::MOVING;

/// A name in a directory.
pub struct Place {
    pub directory: OwnedFd,
    pub name: OsString,
}

/// Every level needs a few descriptors.
const DEEPEST: usize = 100;

pub fn is_in_overlay(directory: impl AsFd) -> bool {
    const OVERLAYFS: rustix::fs::FsWord = 0x794c_7630;
    fstatfs(directory).is_ok_and(|found| found.f_type == OVERLAYFS)
}

/// As the system call. What the kernel refuses with EXDEV is done step by step.
pub fn rename(old: &Place, new: &Place, flags: RenameFlags) -> Result<()> {
    match renameat_with(&old.directory, &*old.name, &new.directory, &*new.name, flags) {
        Err(Errno::XDEV) => {}
        done => return done,
    }
    let mount = mount_of(&old.directory, OsStr::new("."))?;
    let simple = flags.difference(RenameFlags::NOREPLACE).is_empty();
    if !simple || mount != mount_of(&new.directory, OsStr::new("."))? {
        return Err(Errno::XDEV);
    }
    // Fails as late as possible otherwise.
    match statat(&new.directory, &*new.name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(_) if flags.contains(RenameFlags::NOREPLACE) => return Err(Errno::EXIST),
        Ok(found) if !is_directory(&found) => return Err(Errno::NOTDIR),
        Ok(_) if !names_in(&new.directory, &new.name)?.is_empty() => return Err(Errno::NOTEMPTY),
        _ => {}
    }
    let (staged, source) = (staging(&new.directory)?, open(&old.directory, &old.name)?);
    let mut moved = Moved::default();
    let made = open(&new.directory, &staged)
        .and_then(|root| Copying { root: &root, mount, moved: &mut moved }.fill(&source, &root, Path::new(""), DEEPEST))
        .and_then(|()| renameat_with(&new.directory, &*staged, &new.directory, &*new.name, flags));
    if let Err(error) = made {
        remove(&new.directory, &staged, Path::new(""), None);
        return Err(error);
    }
    let copy = openat(&new.directory, &*new.name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty());
    remove(&old.directory, &old.name, Path::new(""), Some(&Arrived { names: &moved.names, copy: copy.ok() }));
    Ok(())
}

/// What has a second name by now.
#[derive(Default)]
struct Moved {
    /// The old names, with what was there.
    names: HashMap<PathBuf, Version>,
    /// The new name of each file that had several names in the layer below. An overlay would copy each of them for itself.
    linked: HashMap<u64, PathBuf>,
}

/// Tells whether a name still has the file that was moved.
#[derive(Eq, PartialEq)]
struct Version {
    mode: u32,
    size: i64,
    changed: (i64, i64),
}

impl Version {
    fn of(stat: &Stat) -> Self {
        let changed = (stat.st_ctime, i64::try_from(stat.st_ctime_nsec).unwrap_or(0));
        Self { mode: stat.st_mode, size: stat.st_size, changed }
    }
}

fn staging(directory: &OwnedFd) -> Result<OsString> {
    let own = std::process::id();
    for number in 0..100 {
        let name = OsString::from(format!("{MOVING}{own}-{number}"));
        match mkdirat(directory, &*name, Mode::RWXU) {
            Err(Errno::EXIST) => {}
            made => return made.map(|()| name),
        }
    }
    Err(Errno::EXIST)
}

struct Copying<'a> {
    root: &'a OwnedFd,
    mount: u64,
    moved: &'a mut Moved,
}

impl Copying<'_> {
    /// Gives everything in `from` a second name in `to`, and `to` the mode and the like of `from`.
    fn fill(&mut self, from: &OwnedFd, to: &OwnedFd, path: &Path, depth: usize) -> Result<()> {
        if depth == 0 {
            return Err(Errno::XDEV);
        }
        for name in names(from)? {
            let (stat, path) = (statat(from, &*name, AtFlags::SYMLINK_NOFOLLOW)?, path.join(&name));
            if !is_directory(&stat) {
                self.link(from, to, &path, &stat)?;
                continue;
            }
            // A protected directory is a mount of its own, and stays where it is.
            if mount_of(from, &name)? != self.mount {
                return Err(Errno::XDEV);
            }
            mkdirat(to, &*name, Mode::RWXU)?;
            self.fill(&open(from, &name)?, &open(to, &name)?, &path, depth - 1)?;
        }
        copy_attributes(from, to)
    }

    fn link(&mut self, from: &OwnedFd, to: &OwnedFd, path: &Path, stat: &Stat) -> Result<()> {
        let name = path.file_name().ok_or(Errno::INVAL)?;
        match self.moved.linked.get(&stat.st_ino).filter(|_| stat.st_nlink > 1) {
            Some(first) => linkat(self.root, first, to, name, AtFlags::empty())?,
            None => linkat(from, name, to, name, AtFlags::empty())?,
        }
        if stat.st_nlink > 1 {
            self.moved.linked.entry(stat.st_ino).or_insert_with(|| path.to_owned());
        }
        let now = statat(from, name, AtFlags::SYMLINK_NOFOLLOW)?;
        self.moved.names.insert(path.to_owned(), Version::of(&now));
        Ok(())
    }
}

/// The files that have their new names.
struct Arrived<'a> {
    names: &'a HashMap<PathBuf, Version>,
    copy: Option<OwnedFd>,
}

impl Arrived<'_> {
    /// Whether an old name still has the file that was moved. It has not changed since, or it changes together with the new
    /// name: inode numbers do not tell that in an overlay, but the time of the last change does, to the nanosecond.
    fn has(&self, path: &Path, old: &Stat) -> bool {
        let old = Version::of(old);
        let new = || statat(self.copy.as_ref()?, path, AtFlags::SYMLINK_NOFOLLOW).ok();
        self.names.get(path).is_some_and(|known| *known == old || new().is_some_and(|new| Version::of(&new) == old))
    }
}

/// Removes a tree. With `moved`, only what has its new name: what came since stays.
fn remove(parent: &OwnedFd, name: &OsStr, path: &Path, moved: Option<&Arrived<'_>>) {
    if let Ok(directory) = open(parent, name) {
        if rustix::fs::fstat(&directory).is_ok_and(|found| found.st_mode & 0o300 != 0o300) {
            let _ = rustix::fs::fchmod(&directory, Mode::RWXU);
        }
        for name in names(&directory).unwrap_or_default() {
            let Ok(found) = statat(&directory, &*name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            let path = path.join(&name);
            if is_directory(&found) {
                remove(&directory, &name, &path, moved);
            } else if moved.is_none_or(|moved| moved.has(&path, &found)) {
                let _ = unlinkat(&directory, &*name, AtFlags::empty());
            }
        }
    }
    let _ = unlinkat(parent, name, AtFlags::REMOVEDIR);
}

fn open(parent: &OwnedFd, name: &OsStr) -> Result<OwnedFd> {
    openat(parent, name, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
}

fn names_in(parent: &OwnedFd, name: &OsStr) -> Result<Vec<OsString>> {
    names(&open(parent, name)?)
}

fn names(directory: &OwnedFd) -> Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name != "." && name != ".." {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

fn is_directory(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}

fn mount_of(parent: &OwnedFd, name: &OsStr) -> Result<u64> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    Ok(rustix::fs::statx(parent, name, flags, StatxFlags::MNT_ID)?.stx_mnt_id)
}

/// Owner, extended attributes, mode and times, in this order: each step could change what a later one sets.
fn copy_attributes(from: &OwnedFd, to: &OwnedFd) -> Result<()> {
    let stat = rustix::fs::fstat(from)?;
    let now = rustix::fs::fstat(to)?;
    if (stat.st_uid, stat.st_gid) != (now.st_uid, now.st_gid) {
        rustix::fs::fchown(to, Some(Uid::from_raw(stat.st_uid)), Some(Gid::from_raw(stat.st_gid)))?;
    }
    let length = rustix::fs::flistxattr_query(from).unwrap_or(0);
    let mut names = vec![0_u8; length];
    let length = rustix::fs::flistxattr(from, &mut names[..]).unwrap_or(0);
    for name in names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let mut value = vec![0_u8; rustix::fs::fgetxattr_query(from, name)?];
        let length = rustix::fs::fgetxattr(from, name, &mut value[..])?;
        rustix::fs::fsetxattr(to, name, &value[..length], XattrFlags::empty())?;
    }
    rustix::fs::fchmod(to, Mode::from_raw_mode(stat.st_mode & 0o7777))?;
    let time = |seconds: i64, nanoseconds: i64| Timespec { tv_sec: seconds, tv_nsec: nanoseconds };
    let last_modification = time(stat.st_mtime, i64::try_from(stat.st_mtime_nsec).unwrap_or(0));
    let last_access = Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_OMIT };
    rustix::fs::futimens(to, &Timestamps { last_access, last_modification })
}
