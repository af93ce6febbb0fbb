//! The file system that a session sees at level `full`. Everything is read-only except the session's own places. Secrets and
//! the sockets of other programs are hidden. `/tmp`, `/dev` and `/proc` are the session's own.
//!
//! An empty file system *covers* a directory that must not be seen, such as `/run`. A *place* is a path that commands must
//! still find below a cover: it is cloned before the cover is mounted and attached afterwards ([`calls`]).

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

/// Holds the sockets and pid files of the whole machine.
const RUN: &str = "/run";

/// Builds the session's file system. Each step relies on the ones before it.
pub fn build(profile: &Profile) -> Result<(), Failure> {
    calls::make_private().doing(|| "separate the session's mounts from the host's".to_owned())?;
    let places = clone_places(profile)?;
    let devices = dev::clone_devices()?;
    let sockets = hide::foreign_sockets(profile);
    let everything = if writes_everywhere(profile) { 0 } else { READ_ONLY };
    calls::set_at(Path::new("/"), everything | HARMLESS, true).doing(|| "make the file system read-only".to_owned())?;
    let covers = covers(profile);
    for cover in &covers {
        calls::mount_new("tmpfs", cover, MountFlags::NOSUID | MountFlags::NODEV, "mode=755,size=1m")
            .doing(|| format!("cover {}", cover.display()))?;
    }
    dev::build(&devices, profile)?;
    for place in &places {
        place.attach()?;
    }
    for cover in covers.iter().map(PathBuf::as_path).chain([Path::new("/dev")]) {
        calls::set_at(cover, READ_ONLY, false).doing(|| format!("make {} read-only", cover.display()))?;
    }
    proc::build(profile)?;
    read_only(&profile.protected)?;
    for path in profile.secrets.iter().filter(|secret| !covers.contains(secret)).chain(&sockets) {
        hide::hide(path)?;
    }
    Ok(())
}

/// Hides paths from a running session. As for [`read_only`], the caller must have entered its namespaces.
pub fn hide(paths: &[PathBuf]) -> Result<(), Failure> {
    paths.iter().try_for_each(|path| hide::hide(path))
}

/// Makes paths read-only. The caller is the keeper, or a process of the guard that has entered the keeper's namespaces.
pub fn read_only(paths: &[PathBuf]) -> Result<(), Failure> {
    // A symbolic link cannot be a mount point. The inventory puts it back if a command changes it.
    for path in paths.iter().filter(|path| !path.is_symlink()) {
        // A mount point cannot be renamed. So a command cannot move the repository away to get rid of the mounts in it.
        if let Some(repository) = path.parent().filter(|parent| path.ends_with("hooks") && parent.ends_with(".git")) {
            bind(repository, 0)?;
        }
        bind(path, READ_ONLY)?;
    }
    Ok(())
}

/// Mounts a path over itself with other attributes. Does nothing if the path no longer exists.
fn bind(path: &Path, attributes: u64) -> Result<(), Failure> {
    let mount = match calls::clone_at(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        mount => mount.doing(|| format!("clone the mount of {}", path.display()))?,
    };
    if attributes != 0 {
        calls::set_cloned(&mount, attributes).doing(|| format!("make {} read-only", path.display()))?;
    }
    calls::attach(&mount, path).doing(|| format!("mount {} over itself", path.display()))
}

/// A mount that commands find at a path, even if the directories above it are covered.
struct Place {
    mount: OwnedFd,
    at: PathBuf,
    directory: bool,
}

/// Clones the mounts of all places, and sorts outer places before those inside them.
fn clone_places(profile: &Profile) -> Result<Vec<Place>, Failure> {
    let mut places = Vec::new();
    let mut add = |from: &Path, at: &Path, attributes: u64| -> Result<(), Failure> {
        let mount = calls::clone_at(from).doing(|| format!("clone the mount of {}", from.display()))?;
        calls::set_cloned(&mount, attributes).doing(|| format!("set the mount attributes of {}", from.display()))?;
        places.push(Place { mount, at: at.to_owned(), directory: from.is_dir() });
        Ok(())
    };
    if profile.private_tmp {
        add(&profile.tmp, profile.tmp_seen(), HARMLESS)?;
    } else {
        add(&profile.tmp, &profile.tmp, HARMLESS)?;
    }
    for path in profile.writable.iter().filter(|path| *path != Path::new("/")) {
        add(path, path, HARMLESS)?;
    }
    for path in shown(profile) {
        add(&path, &path, HARMLESS | READ_ONLY)?;
    }
    places.sort_by_key(|place| place.at.components().count());
    Ok(places)
}

/// Whether the scope is the whole file system. A mount over `/` is not possible, so `/` stays writable instead.
fn writes_everywhere(profile: &Profile) -> bool {
    profile.writable.iter().any(|path| path == Path::new("/"))
}

/// The read-only places: what must stay visible below a cover and is not writable anyway.
fn shown(profile: &Profile) -> Vec<PathBuf> {
    let covered = |path: &PathBuf| {
        let tmp = profile.private_tmp && path.starts_with(profile.tmp_seen());
        (tmp || covers(profile).iter().any(|cover| path.starts_with(cover)))
            && !profile.writable.iter().any(|writable| path.starts_with(writable))
    };
    // Host names cannot be looked up without it, and on many machines it is below /run.
    let resolver = Path::new("/etc/resolv.conf").canonicalize().ok();
    let system = [PathBuf::from("/run/current-system"), PathBuf::from("/run/opengl-driver")];
    let sockets = match &profile.sockets {
        Sockets::Only(sockets) => sockets.clone(),
        Sockets::All => vec![],
    };
    let wanted = profile.visible.iter().cloned().chain(resolver).chain(system).chain(sockets);
    wanted.filter(|path| covered(path) && path.exists()).collect()
}

/// The directories to cover: `/run`, and secret directories that contain a place. (Other secrets are hidden by
/// [`hide::hide`], which leaves no room for a place.)
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
    fn attach(&self) -> Result<(), Failure> {
        if !self.at.exists() {
            self.create_mount_point().doing(|| format!("create a mount point for {}", self.at.display()))?;
        }
        calls::attach(&self.mount, &self.at).doing(|| format!("attach {}", self.at.display()))
    }

    fn create_mount_point(&self) -> io::Result<()> {
        let directories = |path: &Path| std::fs::DirBuilder::new().recursive(true).mode(0o755).create(path);
        if self.directory {
            return directories(&self.at);
        }
        directories(self.at.parent().unwrap_or(Path::new("/")))?;
        File::create(&self.at).map(drop)
    }
}
