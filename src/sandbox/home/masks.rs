//! The layer of masks: a small tree with a whiteout, a directory or a file in the place of each secret.

use std::fs::{DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, XattrFlags, mknodat, setxattr};

use super::super::secrets::{Mask, Shows, read};

/// Nearly every home has these. They are made where they are missing, because a command that makes one over a whiteout
/// would never see the person's own.
const ALWAYS_THERE: [&str; 5] = [".cache", ".config", ".local", ".local/share", ".local/state"];

/// The person's home, and the directory that holds its masks.
#[derive(Clone, Copy)]
pub struct Layer<'a> {
    pub home: &'a Path,
    pub masks: &'a Path,
}

impl Layer<'_> {
    /// Makes the layer show what the masks say now. `places` are paths in the home that must exist as mount points even if
    /// a directory above them is hidden. A mask that was put up earlier and is no longer asked for stays.
    pub fn update(self, masks: &[Mask], places: &[PathBuf]) -> io::Result<()> {
        self.copy_mode(Path::new(""));
        for mask in masks {
            let Ok(name) = mask.at.strip_prefix(self.home) else { continue };
            // A directory that the person does not have is hidden as a whole, in case it comes.
            if let Some(missing) = self.first_missing(name) {
                self.whiteout(missing)?;
                continue;
            }
            match &mask.shows {
                Shows::Nothing if places.iter().any(|place| place.starts_with(&mask.at)) => {
                    self.empty_directory(name)?;
                }
                Shows::Nothing => self.whiteout(name)?,
                Shows::Only(_) => self.directory_with(name, mask)?,
                Shows::Cleaned { .. } => match mask.cleaned() {
                    Some(content) => self.file(name, &content)?,
                    None => self.whiteout(name)?,
                },
            }
        }
        let hidden = |place: &&PathBuf| masks.iter().any(|mask| place.starts_with(&mask.at));
        places.iter().filter(hidden).try_for_each(|place| self.mount_point(place))
    }

    /// The outermost directory above a name that does not exist in the home.
    fn first_missing(self, name: &Path) -> Option<&Path> {
        let above =
            name.ancestors().skip(1).filter(|above| !ALWAYS_THERE.iter().any(|known| *above == Path::new(known)));
        above.filter(|above| *above != Path::new("") && !self.home.join(above).exists()).last()
    }

    /// A name that does not exist, whatever is underneath.
    fn whiteout(self, name: &Path) -> io::Result<()> {
        let path = self.masks.join(name);
        if path.symlink_metadata().is_ok_and(|found| found.rdev() == 0 && found.mode() & libc::S_IFMT == libc::S_IFCHR)
        {
            return Ok(());
        }
        self.make_parents(name)?;
        remove(&path);
        Ok(mknodat(CWD, &path, FileType::CharacterDevice, Mode::empty(), 0)?)
    }

    /// A directory that does not show what is underneath. Where the file system cannot say so, nothing is shown.
    fn empty_directory(self, name: &Path) -> io::Result<()> {
        let path = self.masks.join(name);
        if !path.is_dir() {
            self.make_parents(name)?;
            remove(&path);
            DirBuilder::new().mode(0o700).create(&path)?;
            if setxattr(&path, "user.overlay.opaque", b"y", XattrFlags::empty()).is_err() {
                return self.whiteout(name);
            }
        }
        self.copy_mode(name);
        Ok(())
    }

    fn directory_with(self, name: &Path, mask: &Mask) -> io::Result<()> {
        if !self.home.join(name).is_dir() {
            return self.whiteout(name);
        }
        self.empty_directory(name)?;
        let shown = mask.shown_entries();
        let kept = |entry: &Path| shown.iter().any(|shown| shown.starts_with(entry));
        for entry in std::fs::read_dir(self.masks.join(name)).into_iter().flatten().flatten() {
            if !kept(Path::new(&entry.file_name())) {
                remove(&entry.path());
            }
        }
        for entry in &shown {
            let (original, name) = (mask.at.join(entry), name.join(entry));
            // A directory is mounted later; here it is only the mount point.
            if original.is_dir() {
                DirBuilder::new().recursive(true).mode(0o755).create(self.masks.join(name))?;
            } else if let Some(content) = read(&original) {
                self.file(&name, &content)?;
            }
        }
        Ok(())
    }

    /// Writes the content into the same file again if there is one, because sessions may have it open.
    fn file(self, name: &Path, content: &[u8]) -> io::Result<()> {
        let path = self.masks.join(name);
        if !path.symlink_metadata().is_ok_and(|found| found.is_file()) {
            self.make_parents(name)?;
            remove(&path);
        } else if std::fs::read(&path).is_ok_and(|before| before == content) {
            return Ok(());
        }
        std::fs::write(&path, content)?;
        self.copy_mode(name);
        Ok(())
    }

    fn mount_point(self, place: &Path) -> io::Result<()> {
        let Ok(name) = place.strip_prefix(self.home) else { return Ok(()) };
        DirBuilder::new().recursive(true).mode(0o755).create(self.masks.join(name))
    }

    fn make_parents(self, name: &Path) -> io::Result<()> {
        let Some(parent) = name.parent().filter(|parent| *parent != Path::new("")) else { return Ok(()) };
        if self.masks.join(parent).is_dir() {
            return Ok(());
        }
        self.make_parents(parent)?;
        remove(&self.masks.join(parent));
        DirBuilder::new().mode(0o755).create(self.masks.join(parent))?;
        self.copy_mode(parent);
        Ok(())
    }

    /// Commands see mode, owner and times of the uppermost layer.
    fn copy_mode(self, name: &Path) {
        let (original, copy) = (self.home.join(name), self.masks.join(name));
        let Ok(found) = original.metadata() else { return };
        let _ = std::fs::set_permissions(&copy, Permissions::from_mode(found.mode() & 0o777));
        let _ = std::os::unix::fs::chown(&copy, Some(found.uid()), Some(found.gid()));
    }
}

fn remove(path: &Path) {
    if std::fs::remove_file(path).is_err() {
        let _ = std::fs::remove_dir_all(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::cleaning::Format;

    #[test]
    fn the_layer_follows_the_home() {
        let world = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let root = world.path().canonicalize().unwrap();
        let (home, masks) = (root.join("home"), root.join("masks"));
        std::fs::create_dir_all(home.join(".ssh")).unwrap();
        std::fs::create_dir_all(home.join(".state/t/tmp")).unwrap();
        std::fs::create_dir(&masks).unwrap();
        std::fs::write(home.join(".ssh/id"), "secret").unwrap();
        std::fs::write(home.join(".ssh/known_hosts"), "one").unwrap();
        std::fs::write(home.join(".npmrc"), "a=1\n_auth=x\n").unwrap();
        let list = [
            Mask::hidden(home.join(".netrc")),
            Mask { at: home.join(".npmrc"), shows: Shows::Cleaned { format: Format::Assignments, variable: None } },
            Mask { at: home.join(".ssh"), shows: Shows::Only(vec!["known_hosts".into()]) },
            Mask::hidden(home.join(".state/t")),
            Mask::hidden(home.join(".cargo/credentials")),
            Mask::hidden(home.join(".config/gh")),
        ];
        let layer = Layer { home: &home, masks: &masks };
        layer.update(&list, &[home.join(".state/t/tmp")]).unwrap();
        let is_whiteout =
            |name: &str| masks.join(name).symlink_metadata().is_ok_and(|found| !found.is_dir() && !found.is_file());
        assert!(is_whiteout(".netrc"));
        assert_eq!(std::fs::read_to_string(masks.join(".npmrc")).unwrap(), "a=1\n");
        assert_eq!(std::fs::read_to_string(masks.join(".ssh/known_hosts")).unwrap(), "one");
        assert!(!masks.join(".ssh/id").exists());
        assert!(masks.join(".state/t/tmp").is_dir());
        assert!(is_whiteout(".cargo") && is_whiteout(".config/gh"));
        std::fs::create_dir(home.join(".cargo")).unwrap();
        std::fs::write(home.join(".ssh/known_hosts"), "two").unwrap();
        std::fs::remove_file(home.join(".npmrc")).unwrap();
        layer.update(&list, &[]).unwrap();
        assert_eq!(std::fs::read_to_string(masks.join(".ssh/known_hosts")).unwrap(), "two");
        assert!(is_whiteout(".npmrc") && is_whiteout(".state/t") && is_whiteout(".cargo/credentials"));
    }
}
