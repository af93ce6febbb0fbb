//! Whether a directory is private to our user, so that nobody else can put files into it or exchange it for another one.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const OTHERS_WRITE: u32 = 0o002;
const GROUP_WRITES: u32 = 0o020;
/// In such a directory only the owner of an entry can rename or remove it.
const STICKY: u32 = 0o1000;

/// Fails with the reason if another user owns the directory, can write to it, or can exchange it or one above it. Links on
/// the way are judged like directories: who owns one can change it.
pub fn check(directory: &Path) -> io::Result<()> {
    let own = rustix::process::geteuid().as_raw();
    let real = directory.canonicalize()?;
    for path in directory.ancestors().chain(real.ancestors()).filter(|path| path.is_absolute()) {
        check_entry(path, &std::fs::symlink_metadata(path)?, own)?;
    }
    let last = std::fs::metadata(&real)?;
    let is_private = last.uid() == own && last.mode() & (OTHERS_WRITE | GROUP_WRITES) == 0;
    if is_private { Ok(()) } else { Err(refusal(&real, "belongs to another user, or others can write to it")) }
}

/// Makes a private directory with those above it. Nothing is made below a directory that another user could exchange.
pub fn make(directory: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    if let Some(existing) = directory.ancestors().find(|path| path.exists()) {
        check_shared(existing)?;
    }
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    check(directory)
}

/// Like [`check`], for a directory in which everybody may make entries of their own, such as `/tmp`.
pub fn check_shared(directory: &Path) -> io::Result<()> {
    let own = rustix::process::geteuid().as_raw();
    let real = directory.canonicalize()?;
    real.ancestors().try_for_each(|path| check_entry(path, &std::fs::symlink_metadata(path)?, own))
}

fn check_entry(path: &Path, entry: &Metadata, own: u32) -> io::Result<()> {
    let owner = entry.uid();
    if owner != own && owner != 0 && !is_unknown(owner) {
        return Err(refusal(path, "belongs to another user"));
    }
    let open = !entry.is_symlink() && entry.mode() & OTHERS_WRITE != 0 && entry.mode() & STICKY == 0;
    if open { Err(refusal(path, "can be written by other users")) } else { Ok(()) }
}

/// In a user namespace, files of users that it does not have seem to belong to nobody. None of those users can be inside.
fn is_unknown(owner: u32) -> bool {
    const NOBODY: u32 = 65534;
    const ALL: &str = "4294967295";
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    owner == NOBODY && map.split_whitespace().nth(2) != Some(ALL)
}

fn refusal(path: &Path, reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, format!("{} {reason}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn others_must_not_be_able_to_write_or_to_exchange_it() {
        let world = tempfile::tempdir().unwrap();
        let above = world.path().canonicalize().unwrap().join("above");
        let directory = above.join("own");
        std::fs::create_dir_all(&directory).unwrap();
        let set = |path: &Path, mode| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        for (mode_above, mode, private) in [
            (0o755, 0o700, true),
            (0o1777, 0o700, true),
            (0o777, 0o700, false),
            (0o755, 0o777, false),
            (0o755, 0o770, false),
        ] {
            set(&above, mode_above);
            set(&directory, mode);
            assert_eq!(check(&directory).is_ok(), private, "{mode_above:o} {mode:o}");
        }
        set(&above, 0o1777);
        assert!(check_shared(&above).is_ok());
        set(&above, 0o777);
        assert!(check_shared(&above).is_err());
    }
}
