//! What a session sees of the file system at level `full`: everything read-only, its own places writable, secrets and
//! other programs' sockets gone, `/tmp`, `/dev` and `/proc` its own.
//!
//! Mounts that have to shine through a cover are held before the cover is put on; see [`calls`].

mod calls;
mod dev;
mod hide;
mod proc;

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::mount::MountFlags;

use self::calls::{HARMLESS, READ_ONLY};
use super::Profile;
use super::failure::{Doing, Failure};
use super::profile::Sockets;

/// Sockets and pid files of the whole machine.
const RUN: &str = "/run";

/// Steps in the order that they need each other.
pub fn build(profile: &Profile) -> Result<(), Failure> {
    calls::make_private().doing(|| "separate the session's mounts from the host's".to_owned())?;
    let places = hold_places(profile)?;
    let devices = dev::hold()?;
    let sockets = hide::foreign_sockets(profile);
    let everything = if writes_everywhere(profile) { 0 } else { READ_ONLY };
    calls::set_at(Path::new("/"), everything | libc::MOUNT_ATTR_NOSUID, true)
        .doing(|| "make the file system read-only".to_owned())?;
    let covers = covers(profile);
    for cover in &covers {
        calls::fresh("tmpfs", cover, MountFlags::NOSUID | MountFlags::NODEV, "mode=755,size=1m")
            .doing(|| format!("cover {}", cover.display()))?;
    }
    dev::build(&devices, profile)?;
    for place in &places {
        place.put()?;
    }
    for cover in covers.iter().map(PathBuf::as_path).chain([Path::new("/dev")]) {
        calls::set_at(cover, READ_ONLY, false).doing(|| format!("make {} read-only", cover.display()))?;
    }
    proc::build(profile)?;
    read_only(&profile.protected)?;
    for path in profile.secrets.iter().filter(|secret| !covers.contains(secret)).chain(&sockets) {
        hide::put_over(path)?;
    }
    Ok(())
}

/// Hides paths from a session that runs already. As with [`read_only`], its namespaces must have been entered.
pub fn hide(paths: &[PathBuf]) -> Result<(), Failure> {
    paths.iter().try_for_each(|path| hide::put_over(path))
}

/// Makes existing names read-only where they are. Whoever calls may be outside the session with its namespaces entered.
pub fn read_only(paths: &[PathBuf]) -> Result<(), Failure> {
    // A link is no place for a mount; whoever watches over it has to put it back.
    for path in paths.iter().filter(|path| !path.is_symlink()) {
        // A repository whose own directory is a mount cannot be moved away to get rid of the mounts inside it.
        if let Some(repository) = path.parent().filter(|parent| path.ends_with("hooks") && parent.ends_with(".git")) {
            bind(repository, 0)?;
        }
        bind(path, READ_ONLY)?;
    }
    Ok(())
}

/// A path put over itself with other attributes; one that has gone meanwhile needs nothing.
fn bind(path: &Path, attributes: u64) -> Result<(), Failure> {
    let held = match calls::hold(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        held => held.doing(|| format!("hold {}", path.display()))?,
    };
    if attributes != 0 {
        calls::set_held(&held, attributes).doing(|| format!("make {} read-only", path.display()))?;
    }
    calls::put(&held, path).doing(|| format!("protect {}", path.display()))
}

/// Something that shall be found at a path whatever covers its surroundings.
struct Place {
    held: OwnedFd,
    at: PathBuf,
    directory: bool,
}

/// Outer places before those inside them.
fn hold_places(profile: &Profile) -> Result<Vec<Place>, Failure> {
    let mut places = Vec::new();
    let mut hold = |from: &Path, at: &Path, attributes: u64| -> Result<(), Failure> {
        let held = calls::hold(from).doing(|| format!("hold {}", from.display()))?;
        calls::set_held(&held, attributes).doing(|| format!("set the rights of {}", from.display()))?;
        places.push(Place { held, at: at.to_owned(), directory: from.is_dir() });
        Ok(())
    };
    if profile.private_tmp {
        hold(&profile.tmp, profile.tmp_seen(), HARMLESS)?;
    } else {
        hold(&profile.tmp, &profile.tmp, HARMLESS)?;
    }
    for path in profile.writable.iter().filter(|path| *path != Path::new("/")) {
        hold(path, path, HARMLESS)?;
    }
    for path in shown(profile) {
        hold(&path, &path, HARMLESS | READ_ONLY)?;
    }
    places.sort_by_key(|place| place.at.components().count());
    Ok(places)
}

/// The person has put the whole machine into the scope; there is no place to put a mount of it.
fn writes_everywhere(profile: &Profile) -> bool {
    profile.writable.iter().any(|path| path == Path::new("/"))
}

/// What must stay visible below the covers and is not writable anyway.
fn shown(profile: &Profile) -> Vec<PathBuf> {
    let covered = |path: &PathBuf| {
        let tmp = profile.private_tmp && path.starts_with(profile.tmp_seen());
        (tmp || covers(profile).iter().any(|cover| path.starts_with(cover)))
            && !profile.writable.iter().any(|writable| path.starts_with(writable))
    };
    // Names could not be looked up without it, and on many machines it lives below /run.
    let resolver = Path::new("/etc/resolv.conf").canonicalize().ok();
    let system = [PathBuf::from("/run/current-system"), PathBuf::from("/run/opengl-driver")];
    let sockets = match &profile.sockets {
        Sockets::Only(sockets) => sockets.clone(),
        Sockets::All => vec![],
    };
    let wanted = profile.visible.iter().cloned().chain(resolver).chain(system).chain(sockets);
    wanted.filter(|path| covered(path) && path.exists()).collect()
}

/// Directories that are replaced by empty ones: `/run`, and secrets that hold a place which must be shown.
fn covers(profile: &Profile) -> Vec<PathBuf> {
    let real = |path: &&str| std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir());
    let run = [RUN, "/var/run"].iter().filter(|_| profile.sockets != Sockets::All).filter(|path| real(path));
    let holds_a_place = |secret: &&PathBuf| {
        let tmp = (!profile.private_tmp).then_some(&profile.tmp);
        let mut inside = profile.writable.iter().chain(&profile.visible).chain(tmp);
        secret.is_dir() && inside.any(|place| place != *secret && place.starts_with(secret))
    };
    let mut covers: Vec<PathBuf> =
        run.map(PathBuf::from).chain(profile.secrets.iter().filter(holds_a_place).cloned()).collect();
    covers.sort_by_key(|path| path.components().count());
    covers
}

impl Place {
    fn put(&self) -> Result<(), Failure> {
        if !self.at.exists() {
            self.make_room().doing(|| format!("make room for {}", self.at.display()))?;
        }
        calls::put(&self.held, &self.at).doing(|| format!("put {} in its place", self.at.display()))
    }

    fn make_room(&self) -> io::Result<()> {
        let directories = |path: &Path| std::fs::DirBuilder::new().recursive(true).mode(0o755).create(path);
        if self.directory {
            return directories(&self.at);
        }
        directories(self.at.parent().unwrap_or(Path::new("/")))?;
        File::create(&self.at).map(drop)
    }
}
