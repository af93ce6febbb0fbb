use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::{InstallError, Scope};
use crate::base::line_diff;

/// The new content of a file, before it is written.
#[derive(Debug)]
pub struct Change {
    pub file: PathBuf,
    pub(super) scope: Scope,
    /// `None` if the file is new.
    pub before: Option<String>,
    /// `None` if the file is removed.
    pub after: Option<String>,
    /// Whether the file becomes what the backup holds.
    pub(super) drops_backup: bool,
}

/// Files that a client has written are small. A larger one is something else.
const MOST_BYTES: u64 = 64 << 20;

/// Where the former content of a file is kept.
pub fn backup_of(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".testudo-backup");
    name.into()
}

/// The text of a file, `None` if there is none.
pub(super) fn read(path: &Path) -> Result<Option<String>, InstallError> {
    let unreadable = |error| InstallError::Unreadable { path: path.to_owned(), error };
    let found = match fs::metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    if !found.is_file() || found.len() > MOST_BYTES {
        return Err(unreadable(io::Error::other("it is not a file of settings")));
    }
    let bytes = fs::read(path).map_err(unreadable)?;
    String::from_utf8(bytes).map(Some).map_err(|_| unreadable(io::Error::other("it is not text in UTF-8")))
}

impl Change {
    pub fn is_none(&self) -> bool {
        self.before == self.after
    }

    /// The change as a unified diff.
    pub fn diff(&self) -> String {
        let name = |side: Option<&String>| match side {
            Some(_) => self.file.display().to_string(),
            None => "/dev/null".to_owned(),
        };
        let (old, new) = (name(self.before.as_ref()), name(self.after.as_ref()));
        let (before, after) = (self.before.as_deref().unwrap_or_default(), self.after.as_deref().unwrap_or_default());
        let (text, _) = line_diff::unified(before, after, 3, true, None);
        if text.is_empty() { text } else { format!("--- {old}\n+++ {new}\n{text}") }
    }

    /// A file that held nothing but our entry is not worth a backup.
    fn keeps_backup(&self) -> bool {
        self.before.is_some() && self.after.is_some() && !self.drops_backup
    }

    /// Puts the new content in place at once, and returns the backup if there is one.
    pub fn write(&self) -> Result<Option<PathBuf>, InstallError> {
        let unwritable = |error| InstallError::Unwritable { path: self.file.clone(), error };
        // A link stays one: what it points at is changed.
        let target = follow(&self.file).map_err(unwritable)?;
        let backup = backup_of(&self.file);
        let old = self.before.as_ref().map(|_| fs::metadata(&target)).transpose().map_err(unwritable)?;
        if old.as_ref().is_some_and(|old| is_kept_from_writing(&target, old)) {
            return Err(unwritable(io::Error::other(
                "the file is read-only; make it writable first, if it is yours to change",
            )));
        }
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).map_err(unwritable)?;
        }
        if let Some(before) = self.before.as_ref().filter(|_| self.keeps_backup()) {
            replace(&backup, before, old.as_ref(), self.scope, || true).map_err(unwritable)?;
        }
        let untouched = || read(&self.file).is_ok_and(|now| now == self.before);
        let written = match &self.after {
            Some(after) => replace(&target, after, old.as_ref(), self.scope, untouched),
            None if untouched() => fs::remove_file(&target).map(|()| true),
            None => Ok(false),
        };
        if !written.map_err(unwritable)? {
            return Err(InstallError::Overtaken { path: self.file.clone() });
        }
        if self.drops_backup {
            // The file is now the same. If the backup stays, it does no harm.
            let _ = fs::remove_file(&backup);
        }
        Ok(self.keeps_backup().then_some(backup))
    }
}

/// A rename would replace such a file too. But the owner has said that it should stay as it is, or it is not this user's.
fn is_kept_from_writing(path: &Path, found: &fs::Metadata) -> bool {
    found.permissions().mode() & 0o222 == 0 || rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_err()
}

/// The file that a chain of links ends at. It need not exist.
fn follow(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..40 {
        match fs::read_link(&path) {
            Ok(target) => path = path.parent().unwrap_or(Path::new("/")).join(target),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

/// Writes a file under another name and renames it, with the mode and owner of the old one. Returns false, and changes
/// nothing, if the file is not `untouched` at the last moment.
fn replace(
    path: &Path,
    content: &str,
    old: Option<&fs::Metadata>,
    scope: Scope,
    untouched: impl Fn() -> bool,
) -> io::Result<bool> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let draft = directory.join(format!(".testudo-{}.tmp", crate::base::random::hex::<8>()));
    // A person's configuration may hold tokens; that of a project is for everybody.
    let mode = match (old, scope) {
        (Some(old), _) => old.permissions().mode() & 0o7777,
        (None, Scope::User) => 0o600,
        (None, Scope::Project) => 0o644,
    };
    let written = (|| {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
        file.write_all(content.as_bytes())?;
        if let Some(old) = old {
            // Only root can give a file away, and only root edits the files of others.
            let _ = std::os::unix::fs::fchown(&file, Some(old.uid()), Some(old.gid()));
        }
        file.set_permissions(fs::Permissions::from_mode(mode))?;
        file.sync_all()?;
        if !untouched() {
            return Ok(false);
        }
        fs::rename(&draft, path)?;
        // The rename has happened, so a failure to sync it is no failure to write.
        let _ = File::open(directory).and_then(|directory| directory.sync_all());
        Ok(true)
    })();
    if !matches!(written, Ok(true)) {
        let _ = fs::remove_file(&draft);
    }
    written
}
