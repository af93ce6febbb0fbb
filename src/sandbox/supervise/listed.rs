//! The sockets that the person has listed, as the host sees them. Their real paths are found before a command runs: later, a
//! command could put a link where a listed path leads through its project.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};

use super::view::Found;
use crate::sandbox::profile::Sockets;

pub struct Listed(Vec<Entry>);

struct Entry {
    written: PathBuf,
    real: PathBuf,
}

impl Listed {
    pub fn new(sockets: &Sockets) -> Self {
        let Sockets::Only(listed) = sockets else { return Self(Vec::new()) };
        Self(listed.iter().map(|written| Entry { written: written.clone(), real: real(written) }).collect())
    }

    /// Opens a socket by a name that a command uses, if it is a listed one. The session may not see it: its program may have
    /// started after the session's file system was made.
    pub fn open(&self, named: &Path, place: Option<&Path>) -> Option<io::Result<Found>> {
        let real = self.0.iter().find_map(|entry| {
            let below = |path: &Path, listed: &Path| path.strip_prefix(listed).map(|rest| entry.real.join(rest)).ok();
            let by_place = || place.and_then(|place| below(place, &entry.real));
            below(named, &entry.written).or_else(|| below(named, &entry.real)).or_else(by_place)
        })?;
        // Joining an empty rest leaves a slash at the end.
        let real: PathBuf = real.components().collect();
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let opened = openat2(CWD, &real, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS);
        Some(opened.map_err(io::Error::from).and_then(Found::new))
    }
}

/// Resolves links. A socket that does not exist yet is looked for in its directory.
fn real(written: &Path) -> PathBuf {
    let in_directory = || Some(written.parent()?.canonicalize().ok()?.join(written.file_name()?));
    written.canonicalize().ok().or_else(in_directory).unwrap_or_else(|| written.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_link_that_comes_later_is_not_followed() {
        let world = tempfile::tempdir().unwrap();
        let world = world.path().canonicalize().unwrap();
        std::fs::create_dir(world.join("run")).unwrap();
        symlink(world.join("run"), world.join("var")).unwrap();
        let written = world.join("var/x.sock");
        let listed = Listed::new(&Sockets::Only(vec![written.clone()]));
        let real = world.join("run/x.sock");
        assert!(listed.open(&written, None).unwrap().is_err(), "not there yet");
        std::fs::write(&real, "").unwrap();
        for (named, place) in [(&written, None), (&real, None), (&world.join("other"), Some(real.as_path()))] {
            assert_eq!(listed.open(named, place).unwrap().unwrap().path, real, "{}", named.display());
        }
        assert!(listed.open(&world.join("run/y.sock"), None).is_none());
        std::fs::rename(&real, world.join("secret")).unwrap();
        symlink(world.join("secret"), &real).unwrap();
        assert!(listed.open(&written, None).unwrap().is_err());
    }
}
