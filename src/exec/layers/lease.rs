use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use super::ProjectLayer;
use super::holder::{self, Holder, Namespaces};
use crate::base::locks::LockExt;
use crate::sandbox::draft;
use crate::sandbox::home::USE;

/// The right to mount a layer, or to use the mount that another server has made of it. While it or a keeper that got its
/// lock lives, nobody mounts the layer a second time.
#[derive(Debug)]
pub struct LayerLease {
    layer: ProjectLayer,
    view: u64,
    usage: File,
    mount: Mutex<Mount>,
}

#[derive(Debug)]
enum Mount {
    /// The first keeper has to mount it. Until then nobody else may decide about the layer, so the turn stays ours.
    Wanted {
        _turn: File,
    },
    Made {
        namespaces: Namespaces,
        _holder: Option<Holder>,
    },
}

/// A server that starts at the same time mounts the layer within milliseconds.
const PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(5);

impl LayerLease {
    /// Blocks for up to two seconds. `None` if others use the layer and their mount cannot be shared.
    pub fn take(layer: &ProjectLayer, view: u64) -> io::Result<Option<Self>> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(lease) = Self::try_to_take(layer, view)? {
                return Ok(Some(lease));
            }
            if Instant::now() > deadline {
                return Ok(None);
            }
            std::thread::sleep(PAUSE);
        }
    }

    fn try_to_take(layer: &ProjectLayer, view: u64) -> io::Result<Option<Self>> {
        let turn = layer.lock_file("turn")?;
        if flock(&turn, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Ok(None);
        }
        let usage = layer.lock_file(USE)?;
        let free = flock(&usage, FlockOperation::NonBlockingLockExclusive).is_ok();
        let mount = if free {
            Mount::Wanted { _turn: turn }
        } else {
            // A server that uses the layer without an entry is about to end.
            let found = draft::with_capabilities(|| holder::find(&layer.holders(), view));
            let Some(namespaces) = found else { return Ok(None) };
            let holder = Holder::register(&layer.holders(), &namespaces, view).ok();
            Mount::Made { namespaces, _holder: holder }
        };
        // Nobody else can get an exclusive lock in between, because that takes the turn.
        flock(&usage, FlockOperation::LockShared)?;
        Ok(Some(Self { layer: layer.clone(), view, usage, mount: Mutex::new(mount) }))
    }

    pub fn directory(&self) -> &Path {
        self.layer.directory()
    }

    pub fn layer(&self) -> &ProjectLayer {
        &self.layer
    }

    /// Held open by every keeper that has the layer mounted.
    pub fn lock(&self) -> BorrowedFd<'_> {
        self.usage.as_fd()
    }

    /// Copies of the descriptors of the namespaces, if it is mounted.
    pub fn namespaces(&self) -> io::Result<Vec<OwnedFd>> {
        match &*self.mount.locked() {
            Mount::Wanted { .. } => Ok(Vec::new()),
            Mount::Made { namespaces, .. } => Ok(vec![namespaces.users.try_clone()?, namespaces.mounts.try_clone()?]),
        }
    }

    /// A keeper has mounted it in these namespaces. From now on other servers can share the mount.
    pub fn mounted(&self, users: OwnedFd, mounts: OwnedFd) {
        let namespaces = Namespaces { users, mounts };
        let holder = Holder::register(&self.layer.holders(), &namespaces, self.view).ok();
        *self.mount.locked() = Mount::Made { namespaces, _holder: holder };
    }
}

#[cfg(test)]
mod tests {
    use super::super::ProjectLayers;
    use super::*;

    #[test]
    fn the_first_mounts_and_the_others_share() {
        let world = tempfile::tempdir().unwrap();
        let layer = ProjectLayers::of_homes(world.path()).of(Path::new("/p")).unwrap();
        let first = LayerLease::take(&layer, 1).unwrap().unwrap();
        assert!(first.namespaces().unwrap().is_empty(), "nobody has mounted it");
        assert!(LayerLease::try_to_take(&layer, 1).unwrap().is_none(), "not before the first has mounted it");
        let own = |name: &str| OwnedFd::from(File::open(format!("/proc/self/ns/{name}")).unwrap());
        first.mounted(own("user"), own("mnt"));
        let second = LayerLease::take(&layer, 1).unwrap().unwrap();
        assert_eq!(second.namespaces().unwrap().len(), 2);
        assert!(LayerLease::try_to_take(&layer, 2).unwrap().is_none(), "other masks");
        drop(first);
        assert!(layer.is_in_use());
        drop(second);
        assert!(!layer.is_in_use());
    }
}
