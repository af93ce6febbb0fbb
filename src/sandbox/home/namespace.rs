//! The namespace in which the overlay is mounted, and what processes in it do. No command ever runs there. Its `/dev` is a
//! tmpfs with two directories: the masks, and the mount point of the overlay.

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, StatVfsMountFlags};
use rustix::mount::MountFlags;

use super::super::failure::{Doing, Failure};
use super::super::mounts::calls;
use super::super::secrets::Mask;
use super::masks::Layer;
use super::{Home, UPPER, WORK};

const ROOM: &str = "/dev";
const MASKS: &str = "/dev/masks";
const MERGED: &str = "/dev/home";

/// Mounts the overlay. The caller has just got its own user and mount namespaces. Returns the reason if there is no upper
/// layer although one was asked for.
pub fn mount(home: &Home, masks: &[Mask], places: &[PathBuf]) -> Result<Option<Failure>, Failure> {
    calls::make_private().doing(|| "separate the home's mounts from the host's".to_owned())?;
    // Opened before the tmpfs covers /dev, in case they lie below it.
    let lower = open(&home.path)?;
    let upper = home.layer.as_ref().map(|layer| Ok((open(&layer.join(UPPER))?, open(&layer.join(WORK))?)));
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    calls::mount_new("tmpfs", Path::new(ROOM), flags, "mode=700,size=64m")
        .doing(|| "make room for masks".to_owned())?;
    for directory in [MASKS, MERGED] {
        std::fs::create_dir(directory).doing(|| format!("create {directory}"))?;
    }
    layer(home).update(masks, places).doing(|| "write the masks of the home".to_owned())?;
    let overlay = |upper: String| {
        let options = format!("lowerdir={MASKS}:{}{upper},userxattr", by_number(&lower));
        calls::mount_new("overlay", Path::new(MERGED), MountFlags::NOSUID | MountFlags::NODEV, &options)
            .doing(|| describe(home))
    };
    let refused = match upper {
        Some(Ok((upper, work))) => {
            match overlay(format!(",upperdir={},workdir={}", by_number(&upper), by_number(&work))) {
                Ok(()) => return Ok(None),
                Err(failure) => Some(failure),
            }
        }
        Some(Err(failure)) => Some(failure),
        None => None,
    };
    overlay(String::new())?;
    Ok(refused)
}

/// What was tried. An ordinary user cannot mount an overlay over mounts that are locked in the namespace.
fn describe(home: &Home) -> String {
    let what = format!("mount an overlay over {}", home.path.display());
    match home.mounted_below().first() {
        Some(at) => format!("{what}, because a file system is mounted below it ({})", at.display()),
        None => what,
    }
}

/// Clones of the overlay: of the whole home, and of the parts that other mounts show. The caller is in the namespace.
pub fn clones(home: &Home) -> Result<Vec<OwnedFd>, Failure> {
    let parts = home.aliases.iter().map(|(_, part)| Path::new(MERGED).join(part));
    let clone = |path: PathBuf| calls::clone_at(&path).doing(|| format!("clone the home at {}", path.display()));
    [PathBuf::from(MERGED)].into_iter().chain(parts).map(clone).collect()
}

/// Puts up the masks as they are now, and drops what the overlay remembers of the layers below: otherwise a command would
/// see a file that the person has replaced as it was.
pub fn refresh(home: &Home, masks: &[Mask], places: &[PathBuf]) -> Result<(), Failure> {
    layer(home).update(masks, places).doing(|| "write the masks of the home".to_owned())?;
    let mut flags = MountFlags::NOSUID | MountFlags::NODEV;
    // Without an upper layer, or because the layer is full.
    if rustix::fs::statvfs(MERGED).is_ok_and(|found| found.f_flag.contains(StatVfsMountFlags::RDONLY)) {
        flags |= MountFlags::RDONLY;
    }
    calls::remount(Path::new(MERGED), flags).doing(|| "refresh the home".to_owned())
}

/// From now on nothing can be written to the layer, in no session.
pub fn make_read_only() -> Result<(), Failure> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::RDONLY;
    calls::remount(Path::new(MERGED), flags).doing(|| "make the home read-only".to_owned())
}

fn layer(home: &Home) -> Layer<'_> {
    Layer { home: &home.path, masks: Path::new(MASKS) }
}

fn open(path: &Path) -> Result<OwnedFd, Failure> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).doing(|| format!("open {}", path.display()))
}

/// A path that leads to an open directory. It has no character that the mount options would have to escape.
fn by_number(directory: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", directory.as_raw_fd())
}
