//! Reads and changes files in a tree that a command may be changing at the same time. Every access goes through a handle
//! of the root and follows no symbolic link (`openat2` with RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS), so neither a link nor
//! a race leads outside the root.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, ResolveFlags, Stat, openat2, renameat_with, statat,
};
use rustix::io::Errno;

use super::entry::{Content, Entry, LARGEST, Stamp};
use crate::base::{mounts, random};

/// A directory of the scope. All paths that it takes are relative to it.
#[derive(Debug)]
pub struct Root {
    path: PathBuf,
    handle: OwnedFd,
}

/// The names in a directory, and the directory itself as it was right before it was read.
pub struct Listing {
    pub stamp: Stamp,
    pub names: Vec<(OsString, FileType)>,
}

impl Listing {
    pub fn has(&self, name: &str) -> bool {
        self.names.iter().any(|(known, _)| known == name)
    }
}

const PATH: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl Root {
    pub fn open(path: &Path) -> io::Result<Self> {
        let handle = rustix::fs::open(path, PATH | OFlags::DIRECTORY, Mode::empty())?;
        Ok(Self { path: path.to_owned(), handle })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the file system of a path answers. What is on one that does not is neither gone nor changed.
    pub fn answers(&self, path: &Path) -> bool {
        mounts::answers(&self.path.join(path))
    }

    /// What a path names now. Follows links on the way, but not the last: it serves to notice a change cheaply.
    pub fn stat(&self, path: &Path) -> io::Result<Stat> {
        if !self.answers(path) {
            return Err(Errno::HOSTDOWN.into());
        }
        Ok(statat(&self.handle, here(path), AtFlags::SYMLINK_NOFOLLOW)?)
    }

    pub fn stamp(&self, path: &Path) -> Option<Stamp> {
        self.stat(path).ok().map(|stat| Stamp::of(&stat))
    }

    /// What exists at a path, with its content. `None` if there is nothing, or a link leads there.
    pub fn entry(&self, path: &Path) -> Option<Entry> {
        let now = SystemTime::now();
        let handle = self.beneath(path, PATH).ok()?;
        let stat = rustix::fs::fstat(&handle).ok()?;
        let content = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => Content::Directory,
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(&handle, "", Vec::new()).ok()?;
                Content::Link(PathBuf::from(OsString::from_vec(target.into_bytes())))
            }
            FileType::RegularFile if stat.st_size.cast_unsigned() > LARGEST => {
                Content::Unknown("is too large to be compared")
            }
            FileType::RegularFile => match read_again(&handle) {
                Ok(bytes) if bytes.len() as u64 > LARGEST => Content::Unknown("is too large to be compared"),
                Ok(bytes) => Content::File { bytes: bytes.into(), executable: stat.st_mode & 0o111 != 0 },
                Err(_) => Content::Unknown("cannot be read"),
            },
            _ => Content::Unknown("is not a regular file"),
        };
        let stamp = Stamp::of(&stat);
        Some(Entry { stamp, settled: stamp.is_settled(now), mode: stat.st_mode & 0o7777, content, own: false })
    }

    pub fn list(&self, path: &Path) -> io::Result<Listing> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = match self.beneath(path, flags) {
            Err(Errno::ACCESS) => self.open_unreadable(path, flags)?,
            other => other?,
        };
        let stamp = Stamp::of(&rustix::fs::fstat(&directory)?);
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::new(directory)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => {
                    self.stat(&path.join(name)).map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode))
                }
                kind => kind,
            };
            names.push((name.to_owned(), kind));
        }
        Ok(Listing { stamp, names })
    }

    /// A command can make a directory that nobody may list and whose files still work. We own it as well, so we can list it
    /// after all. Its mode is set back.
    fn open_unreadable(&self, path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
        let handle = self.beneath(path, PATH)?;
        let mode = Mode::from_raw_mode(rustix::fs::fstat(&handle)?.st_mode & 0o7777);
        let again = format!("/proc/self/fd/{}", handle.as_raw_fd());
        rustix::fs::chmod(&*again, mode | Mode::RUSR)?;
        let opened = rustix::fs::openat(CWD, &*again, flags, Mode::empty());
        rustix::fs::chmod(&*again, mode)?;
        opened
    }

    /// Puts a file in place of what exists there now. What existed is moved aside and its new name returned, unless `keep`
    /// says that its content is not needed.
    pub fn replace(&self, path: &Path, entry: &Entry, keep: bool) -> io::Result<Option<PathBuf>> {
        self.make_parents(path)?;
        let (directory, name) = self.parent(path)?;
        let temporary = format!(".testudo-{}", random::hex::<8>());
        entry.content.write(&directory, &temporary, entry.mode)?;
        let exchanged = renameat_with(&directory, &*temporary, &directory, name, RenameFlags::EXCHANGE);
        match exchanged {
            Ok(()) if keep => {
                rename_aside(&directory, temporary.as_ref(), name).map(|aside| Some(path.with_file_name(aside)))
            }
            Ok(()) => {
                let _ = rustix::fs::unlinkat(&directory, &*temporary, AtFlags::empty());
                Ok(None)
            }
            // There is nothing at the path, or the file system cannot exchange.
            Err(_) => {
                let aside = if keep { rename_aside(&directory, name, name).ok() } else { None };
                let placed = rustix::fs::renameat(&directory, &*temporary, &directory, name);
                if placed.is_err() {
                    let _ = rustix::fs::unlinkat(&directory, &*temporary, AtFlags::empty());
                }
                placed?;
                Ok(aside.map(|aside| path.with_file_name(aside)))
            }
        }
    }

    /// Renames it to `….untrusted`, a name that no program looks for, and returns the new path.
    pub fn move_aside(&self, path: &Path) -> io::Result<PathBuf> {
        let (directory, name) = self.parent(path)?;
        rename_aside(&directory, name, name).map(|aside| path.with_file_name(aside))
    }

    /// Takes back [`Root::move_aside`], if nothing has the name by now.
    pub fn move_back(&self, aside: &Path, path: &Path) -> io::Result<()> {
        let (directory, name) = self.parent(path)?;
        let (from, aside) = self.parent(aside)?;
        Ok(rename_without_replacing(&from, aside, &directory, name)?)
    }

    pub fn remove_file(&self, path: &Path) -> io::Result<()> {
        let (directory, name) = self.parent(path)?;
        Ok(rustix::fs::unlinkat(&directory, name, AtFlags::empty())?)
    }

    pub fn set_mode(&self, path: &Path, mode: u32) -> io::Result<()> {
        let handle = self.beneath(path, PATH)?;
        Ok(rustix::fs::chmod(format!("/proc/self/fd/{}", handle.as_raw_fd()), Mode::from_raw_mode(mode))?)
    }

    /// Creates the directories between the root and a path.
    fn make_parents(&self, path: &Path) -> io::Result<()> {
        let mut above: Vec<&Path> = path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()).collect();
        above.reverse();
        for directory in above {
            if self.stat(directory).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory) {
                continue;
            }
            let (parent, name) = self.parent(directory)?;
            // A file or a link in the way would keep the person's file from coming back.
            let _ = rename_aside(&parent, name, name);
            rustix::fs::mkdirat(&parent, name, Mode::from_raw_mode(0o755))?;
        }
        Ok(())
    }

    fn parent<'a>(&self, path: &'a Path) -> io::Result<(OwnedFd, &'a OsStr)> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let parent = path.parent().unwrap_or(Path::new(""));
        Ok((self.beneath(parent, PATH | OFlags::DIRECTORY)?, name))
    }

    fn beneath(&self, path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
        if !self.answers(path) {
            return Err(Errno::HOSTDOWN);
        }
        // With O_PATH and O_NOFOLLOW the last name may be a link; it is opened itself.
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
        openat2(&self.handle, here(path), flags | OFlags::NOFOLLOW, Mode::empty(), resolve)
    }
}

fn here(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

/// Opens a handle again for its content. It is the file that was looked at, whatever its path names by now.
fn read_again(handle: &OwnedFd) -> io::Result<Vec<u8>> {
    let again = format!("/proc/self/fd/{}", handle.as_raw_fd());
    let file =
        File::from(rustix::fs::openat(CWD, again, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?);
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl Content {
    /// Makes a new file with this content.
    fn write(&self, directory: &OwnedFd, name: &str, mode: u32) -> io::Result<()> {
        match self {
            Self::File { bytes, .. } => {
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let mode = Mode::from_raw_mode(mode);
                let mut file = File::from(rustix::fs::openat(directory, name, flags, Mode::RUSR | Mode::WUSR)?);
                file.write_all(bytes)?;
                Ok(rustix::fs::fchmod(&file, mode)?)
            }
            Self::Link(target) => Ok(rustix::fs::symlinkat(target, directory, name)?),
            Self::Directory => Ok(rustix::fs::mkdirat(directory, name, Mode::from_raw_mode(mode))?),
            Self::Unknown(_) => Err(io::Error::other("its content was not remembered")),
        }
    }
}

/// The plain suffix where it is free, else a random one: nobody can take all of them beforehand.
fn rename_aside(directory: &OwnedFd, from: &OsStr, name: &OsStr) -> io::Result<OsString> {
    let mut aside = name.to_owned();
    aside.push(".untrusted");
    for _ in 0..8 {
        match rename_without_replacing(directory, from, directory, &aside) {
            Ok(()) => return Ok(aside),
            Err(Errno::EXIST) => {}
            // A name can be too long for the suffix.
            Err(Errno::NAMETOOLONG) => aside = "untrusted".into(),
            Err(error) => return Err(error.into()),
        }
        aside.push(format!("-{}", random::hex::<8>()));
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Some file systems cannot rename without replacing. There we look first.
fn rename_without_replacing(from: &OwnedFd, old: &OsStr, to: &OwnedFd, new: &OsStr) -> rustix::io::Result<()> {
    match renameat_with(from, old, to, new, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS) => match statat(to, new, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => Err(Errno::EXIST),
            Err(_) => rustix::fs::renameat(from, old, to, new),
        },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world() -> (tempfile::TempDir, Root) {
        let world = tempfile::tempdir().unwrap();
        let path = world.path().canonicalize().unwrap().join("root");
        std::fs::create_dir_all(path.join("../outside")).unwrap();
        std::fs::create_dir_all(&path).unwrap();
        let root = Root::open(&path).unwrap();
        (world, root)
    }

    #[test]
    fn nothing_is_touched_through_a_link() {
        let (_world, root) = world();
        let outside = root.path().join("../outside/.envrc");
        std::fs::write(&outside, "theirs").unwrap();
        std::os::unix::fs::symlink("../outside", root.path().join("way")).unwrap();
        std::os::unix::fs::symlink("../outside/.envrc", root.path().join(".envrc")).unwrap();
        assert!(root.entry(Path::new("way/.envrc")).is_none() && root.move_aside(Path::new("way/.envrc")).is_err());
        assert_eq!(root.entry(Path::new(".envrc")).unwrap().content, Content::Link("../outside/.envrc".into()));
        assert_eq!(root.move_aside(Path::new(".envrc")).unwrap(), Path::new(".envrc.untrusted"));
        assert_eq!(std::fs::read_to_string(outside).unwrap(), "theirs");
    }

    #[test]
    fn what_is_replaced_is_kept_and_no_name_can_be_blocked() {
        let (_world, root) = world();
        let path = Path::new("d/f");
        let text = |text: &str| Entry::file(text.as_bytes(), 0o640);
        assert_eq!(root.replace(path, &text("one"), true).unwrap(), None);
        let aside = root.replace(path, &text("two"), true).unwrap().unwrap();
        assert_eq!(aside, Path::new("d/f.untrusted"));
        let second = root.replace(path, &text("three"), true).unwrap().unwrap();
        assert!(second.to_string_lossy().starts_with("d/f.untrusted-"));
        let read = |path: &Path| std::fs::read_to_string(root.path().join(path)).unwrap();
        assert_eq!([read(path), read(&aside), read(&second)], ["three", "one", "two"]);
        root.replace(path, &text("four"), false).unwrap();
        assert_eq!(std::fs::read_dir(root.path().join("d")).unwrap().count(), 3);
    }

    #[test]
    fn a_directory_without_read_permission_is_listed_all_the_same() {
        use std::os::unix::fs::PermissionsExt;
        let (_world, root) = world();
        std::fs::create_dir_all(root.path().join("d/.vscode")).unwrap();
        std::fs::set_permissions(root.path().join("d"), std::fs::Permissions::from_mode(0o311)).unwrap();
        let names: Vec<OsString> = root.list(Path::new("d")).unwrap().names.into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, [".vscode"]);
        assert_eq!(root.stat(Path::new("d")).unwrap().st_mode & 0o777, 0o311);
    }
}
