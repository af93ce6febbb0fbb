//! Reads and replaces files in a tree that a command may be changing at the same time. Every access goes through directory
//! handles below the root and follows no symbolic link, so neither a link nor a race leads outside the root.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use crate::base::random;
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, ResolveFlags, openat2, renameat_with};

/// A file, by a handle of its directory and its name there. The file need not exist.
pub struct Place<'a> {
    directory: OwnedFd,
    name: &'a Path,
}

/// Creates the directories between the root and a path below it.
pub fn make_parents(root: &Path, path: &Path) -> io::Result<()> {
    let inside = |above: &&Path| above.starts_with(root) && *above != root && *above != path;
    let mut missing: Vec<&Path> = path.ancestors().filter(inside).collect();
    missing.reverse();
    for directory in missing {
        let place = Place::find(root, directory)?;
        match rustix::fs::mkdirat(&place.directory, place.name, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Configuration files are smaller. The rest of a larger file is ignored.
const LARGEST: u64 = 1 << 20;

impl<'a> Place<'a> {
    pub fn find(root: &Path, path: &'a Path) -> io::Result<Self> {
        let relative = path.strip_prefix(root).map_err(|_| io::ErrorKind::InvalidInput)?;
        let name = relative.file_name().map(Path::new).ok_or(io::ErrorKind::InvalidInput)?;
        let parent = relative.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(root, flags, Mode::empty())?;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let directory = openat2(root, parent, flags, Mode::empty(), resolve)?;
        Ok(Self { directory, name })
    }

    /// The content of a regular file, up to a limit.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(&self.directory, self.name, flags, Mode::empty())?);
        if !file.metadata()?.is_file() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut bytes = Vec::new();
        file.take(LARGEST).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Writes a file with this content and mode, in place of what exists there now.
    pub fn replace(&self, content: &[u8], mode: u32) -> io::Result<()> {
        let temporary = format!(".testudo-{}", random::hex::<8>());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(mode & 0o7777);
        let mut file = File::from(rustix::fs::openat(&self.directory, temporary.as_str(), flags, mode)?);
        file.write_all(content)?;
        rustix::fs::fchmod(&file, mode)?;
        let moved = rustix::fs::renameat(&self.directory, temporary.as_str(), &self.directory, self.name);
        if moved.is_err() {
            let _ = rustix::fs::unlinkat(&self.directory, temporary.as_str(), AtFlags::empty());
        }
        Ok(moved?)
    }

    /// Creates a symbolic link. What exists there now is moved aside.
    pub fn replace_by_link(&self, target: &Path) -> io::Result<()> {
        let _ = self.move_aside();
        Ok(rustix::fs::symlinkat(target, &self.directory, self.name)?)
    }

    /// Renames it to `….untrusted`, a name that no program looks for, and returns the new name.
    pub fn move_aside(&self) -> io::Result<PathBuf> {
        let name = self.name.as_os_str().to_string_lossy();
        for number in 1..100 {
            let aside = if number == 1 { format!("{name}.untrusted") } else { format!("{name}.untrusted-{number}") };
            match renameat_with(&self.directory, self.name, &self.directory, aside.as_str(), RenameFlags::NOREPLACE) {
                Err(rustix::io::Errno::EXIST) => {}
                Ok(()) => return Ok(PathBuf::from(aside)),
                Err(error) => return Err(error.into()),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_touched_through_a_link() {
        let world = tempfile::tempdir().unwrap();
        let root = world.path().canonicalize().unwrap().join("root");
        std::fs::create_dir_all(root.join("../outside")).unwrap();
        std::fs::create_dir_all(&root).unwrap();
        std::fs::write(root.join("../outside/.envrc"), "theirs").unwrap();
        std::os::unix::fs::symlink("../outside", root.join("way")).unwrap();
        std::os::unix::fs::symlink("../outside/.envrc", root.join(".envrc")).unwrap();
        assert!(Place::find(&root, &root.join("way/.envrc")).is_err());
        assert!(Place::find(&root, &root.join(".envrc")).unwrap().read().is_err());
        assert_eq!(
            Place::find(&root, &root.join(".envrc")).unwrap().move_aside().unwrap(),
            Path::new(".envrc.untrusted")
        );
        assert_eq!(std::fs::read_to_string(root.join("../outside/.envrc")).unwrap(), "theirs");
    }

    #[test]
    fn a_file_is_replaced_and_a_second_one_is_moved_beside_the_first() {
        let world = tempfile::tempdir().unwrap();
        let root = world.path().canonicalize().unwrap();
        let path = root.join("f");
        let place = || Place::find(&root, &path).unwrap();
        place().replace(b"one", 0o640).unwrap();
        assert_eq!(place().read().unwrap(), b"one");
        assert_eq!(place().move_aside().unwrap(), Path::new("f.untrusted"));
        place().replace(b"two", 0o640).unwrap();
        assert_eq!(place().move_aside().unwrap(), Path::new("f.untrusted-2"));
    }
}
