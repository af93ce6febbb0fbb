//! The file system that a session sees at level `full`. Everything is read-only except the session's own places. Secrets
//! are hidden. `/tmp`, `/dev` and `/proc` are the session's own.
//!
//! An empty file system *covers* a directory that must not be seen, such as `/run`. A *place* is a path that commands must
//! still find below a cover: it is cloned before the cover is mounted and attached afterwards ([`calls`]).

pub mod calls;
mod cover;
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
use super::home::{Home, shown_directories};
use super::profile::Sockets;
use super::secrets::{Mask, Shows};

/// Holds the sockets and pid files of the whole machine.
const RUN: &str = "/run";

/// Builds the session's file system. Each step relies on the ones before it. `home` are clones of the overlay over the
/// home directory: of all of it, and of the parts that other mounts show. The caller is in the session's namespaces and in
/// no domain of Landlock.
pub fn build(profile: &Profile, home: Vec<OwnedFd>) -> Result<(), Failure> {
    calls::make_private().doing(|| "separate the session's mounts from the host's".to_owned())?;
    let mut places = clone_places(profile)?;
    add_home(profile, home, &mut places)?;
    let devices = dev::clone_devices()?;
    let secrets = cover::prepare(&not_in_overlay(profile, &profile.secrets));
    let everything = if writes_everywhere(profile) { 0 } else { READ_ONLY };
    calls::set_at(Path::new("/"), everything | HARMLESS, true).doing(|| "make the file system read-only".to_owned())?;
    dev::build(&devices, profile)?;
    let ssh = cover::Cover::of_ssh(&profile.ssh_command).doing(|| "write the settings of ssh".to_owned())?;
    let covers = covers(profile);
    put_on_top(&covers, places)?;
    for cover in covers.iter().map(PathBuf::as_path).chain([Path::new("/dev")]) {
        calls::set_at(cover, READ_ONLY, false).doing(|| format!("make {} read-only", cover.display()))?;
    }
    proc::build(profile)?;
    read_only(&profile.protected)?;
    for directory in above_secrets(profile) {
        bind(&directory, 0)?;
    }
    secrets.into_iter().chain(ssh).try_for_each(cover::Cover::put_up)
}

/// Prepares covers for secrets of a running session. The caller is outside, where the originals are visible.
pub fn prepare_covers(profile: &Profile, masks: &[Mask]) -> Vec<cover::Cover> {
    cover::prepare(&not_in_overlay(profile, masks))
}

/// Puts covers up in a running session. As for [`read_only`], the caller must have entered its namespaces.
pub fn put_up(covers: Vec<cover::Cover>) -> Result<(), Failure> {
    covers.into_iter().try_for_each(cover::Cover::put_up)
}

/// The masks that have to be mounted one by one.
fn not_in_overlay(profile: &Profile, masks: &[Mask]) -> Vec<Mask> {
    let (mounted, covers) = (mounts_in_home(profile), covers(profile));
    let by_overlay = |mask: &Mask| profile.home.as_ref().is_some_and(|home| home.masks(mask, &mounted));
    masks.iter().filter(|mask| !by_overlay(mask) && !covers.contains(&mask.at)).cloned().collect()
}

/// File systems that are mounted below the home directory.
fn mounts_in_home(profile: &Profile) -> Vec<PathBuf> {
    let home = profile.home.as_ref().filter(|home| home.is_mounted());
    home.map(Home::mounted_below).unwrap_or_default()
}

/// The overlay, and on top of it what it hides but commands should see: other file systems that are mounted in the home,
/// and the directories that masks show.
fn add_home(profile: &Profile, clones: Vec<OwnedFd>, places: &mut Vec<Place>) -> Result<(), Failure> {
    let Some(home) = profile.home.as_ref().filter(|home| home.is_mounted()) else { return Ok(()) };
    let at = [&home.path].into_iter().chain(home.aliases.iter().map(|(alias, _)| alias));
    for (at, mount) in at.zip(clones) {
        calls::set_cloned(&mount, HARMLESS).doing(|| format!("set the mount attributes of {}", at.display()))?;
        places.push(Place { mount, at: at.clone(), directory: true, wanted: true });
    }
    let masked = |path: &PathBuf| {
        profile.secrets.iter().any(|mask| mask.at.starts_with(&home.path) && path.starts_with(&mask.at))
    };
    // The clone of a writable directory shows what is mounted at or below it. A draft is mounted at the project.
    let writable = |path: &PathBuf| profile.writable.iter().any(|writable| path.starts_with(writable));
    let mounted = mounts_in_home(profile).into_iter().filter(|path| !masked(path) && !writable(path));
    let in_home = |mask: &&Mask| mask.at.starts_with(&home.path);
    let shown = profile.secrets.iter().filter(in_home).flat_map(shown_directories);
    for path in mounted.chain(shown) {
        // What cannot be shown is missing; that is no reason to refuse all commands.
        let Ok(mount) = calls::clone_at(&path) else { continue };
        if calls::set_cloned(&mount, HARMLESS | READ_ONLY).is_ok() {
            places.push(Place { mount, at: path, directory: true, wanted: false });
        }
    }
    Ok(())
}

/// Mounts covers and attaches places, those nearest to the root first: a place below a cover has to be seen, and so has a
/// cover below a place. (With the home below `/tmp` and `/tmp` as the project, testudo's own files lie in a place.)
fn put_on_top(covers: &[PathBuf], mut places: Vec<Place>) -> Result<(), Failure> {
    let depth = |path: &Path| path.components().count();
    places.sort_by_key(|place| depth(&place.at));
    let mut places = places.into_iter().peekable();
    for cover in covers {
        while let Some(place) = places.next_if(|place| depth(&place.at) < depth(cover)) {
            place.attach()?;
        }
        calls::mount_new("tmpfs", cover, MountFlags::NOSUID | MountFlags::NODEV, "mode=755,size=1m")
            .doing(|| format!("cover {}", cover.display()))?;
    }
    places.try_for_each(|place| place.attach())
}

/// Directories between the scope and a secret in it. A mount point cannot be renamed, so commands cannot move a secret away
/// from the path by which everybody knows it.
fn above_secrets(profile: &Profile) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for mask in profile.secrets.iter() {
        let Some(scope) = profile.writable.iter().find(|scope| mask.at.starts_with(scope)) else { continue };
        if !mask.at.exists() {
            continue;
        }
        let above = mask.at.ancestors().skip(1).take_while(|above| above != scope && above.starts_with(scope));
        found.extend(above.map(Path::to_owned));
    }
    found.sort();
    found.dedup();
    found
}

/// Makes paths read-only. The caller has entered the keeper's namespaces.
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
    /// Whether the session cannot do without it.
    wanted: bool,
}

/// Clones the mounts of all places.
fn clone_places(profile: &Profile) -> Result<Vec<Place>, Failure> {
    let mut places = Vec::new();
    let mut add = |from: &Path, at: &Path, attributes: u64| -> Result<(), Failure> {
        let mount = calls::clone_at(from).doing(|| format!("clone the mount of {}", from.display()))?;
        calls::set_cloned(&mount, attributes).doing(|| format!("set the mount attributes of {}", from.display()))?;
        places.push(Place { mount, at: at.to_owned(), directory: from.is_dir(), wanted: true });
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
    Ok(places)
}

/// Whether the scope is the whole file system. A mount over `/` is not possible, so `/` stays writable instead.
fn writes_everywhere(profile: &Profile) -> bool {
    profile.writable.iter().any(|path| path == Path::new("/"))
}

/// The read-only places: what must stay visible below a cover and is not writable anyway.
fn shown(profile: &Profile) -> Vec<PathBuf> {
    let covers = covers(profile);
    let covered = |path: &PathBuf| {
        let tmp = profile.private_tmp && path.starts_with(profile.tmp_seen());
        (tmp || covers.iter().any(|cover| path.starts_with(cover)))
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

/// The directories to cover, those nearest to the root first: `/run`, and secret directories that contain a place. (Other secrets are hidden by
/// [`hide::hide`], which leaves no room for a place.)
fn covers(profile: &Profile) -> Vec<PathBuf> {
    let real = |path: &&str| std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir());
    let run = [RUN, "/var/run"].iter().filter(|_| profile.sockets != Sockets::All).filter(|path| real(path));
    let in_overlay = |mask: &&Mask| profile.home.as_ref().is_some_and(|home| home.masks(mask, &[]));
    let hidden = profile.secrets.iter().filter(|mask| mask.shows == Shows::Nothing && !in_overlay(mask));
    let holds_a_place = |secret: &&PathBuf| {
        let tmp = (!profile.private_tmp).then_some(&profile.tmp);
        let mut inside = profile.writable.iter().chain(&profile.visible).chain(tmp);
        inside.any(|place| place != *secret && place.starts_with(secret)) && secret.is_dir()
    };
    let mut covers: Vec<PathBuf> =
        run.map(PathBuf::from).chain(hidden.map(|mask| &mask.at).filter(holds_a_place).cloned()).collect();
    covers.sort_by_key(|path| path.components().count());
    covers
}

impl Place {
    fn attach(&self) -> Result<(), Failure> {
        if !self.at.exists() {
            if !self.wanted {
                return Ok(());
            }
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
