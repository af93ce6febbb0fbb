//! Which layer each project's private home has in this server. All sessions of a project share one lease.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::base::identity::Identity;
use crate::base::locks::LockExt;
use crate::exec::{LayerLease, ProjectLayer, ProjectLayers};
use crate::sandbox::home::Home;
use crate::sandbox::secrets::Mask;

#[derive(Debug)]
pub struct Homes {
    layers: ProjectLayers,
    leases: tokio::sync::Mutex<HashMap<PathBuf, Arc<LayerLease>>>,
    /// Set when this machine cannot mount an upper layer.
    unsupported: Mutex<Option<String>>,
    measured: Mutex<HashMap<PathBuf, Measured>>,
}

#[derive(Clone, Copy, Debug)]
struct Measured {
    at: Instant,
    took: Duration,
}

/// Measuring a layer takes at most this share of the time.
const SHARE: u32 = 50;
const BETWEEN_MEASURES: Duration = Duration::from_secs(10);

impl Homes {
    pub fn new(state_dir: &Path) -> Self {
        Self {
            layers: ProjectLayers::of_homes(state_dir),
            leases: tokio::sync::Mutex::default(),
            unsupported: Mutex::default(),
            measured: Mutex::default(),
        }
    }

    /// The lease of a project's layer, taken on first use. `None` where there can be no private home. `temporary` is where a
    /// layer may lie that goes with the server, for the case that other servers use the project's own in another way.
    pub async fn lease(
        &self,
        project: &Path,
        home: &Home,
        masks: &[Mask],
        temporary: impl FnOnce() -> Option<PathBuf>,
    ) -> Option<Arc<LayerLease>> {
        if self.unsupported.locked().is_some() {
            return None;
        }
        let mut leases = self.leases.lock().await;
        if let Some(lease) = leases.get(project) {
            return Some(lease.clone());
        }
        let view = view(home, masks);
        let layer = self.layers.of(project);
        let taken = tokio::task::spawn_blocking(move || LayerLease::take(&layer?, view)).await.ok()?;
        let lease = match taken {
            Ok(Some(lease)) => lease,
            Ok(None) => {
                tracing::warn!(project = %project.display(), "another server uses this project's private home with other \
                    settings; this one gets an empty home that is not kept");
                LayerLease::take(&ProjectLayer::temporary(temporary()?).ok()?, view).ok()??
            }
            Err(error) => {
                self.give_up(&format!("failed to make a layer for the home: {error}"));
                return None;
            }
        };
        let lease = Arc::new(lease);
        leases.insert(project.to_owned(), lease.clone());
        Some(lease)
    }

    /// Where a project's layer has what commands wrote. `None` where there is no private home.
    pub fn upper(&self, project: &Path) -> Option<PathBuf> {
        if self.unsupported.locked().is_some() {
            return None;
        }
        // While a lease is being taken, no command has run in it.
        let leases = self.leases.try_lock().ok();
        let lease = leases.as_ref().and_then(|leases| leases.get(project)).map(|lease| lease.layer().upper());
        Some(lease.unwrap_or_else(|| self.layers.find(project).upper()))
    }

    /// This machine cannot mount the layer. Later keepers do not try again, and other servers may.
    pub async fn abandon(&self, reason: &str) {
        self.give_up(reason);
        self.leases.lock().await.clear();
    }

    fn give_up(&self, reason: &str) {
        let mut unsupported = self.unsupported.locked();
        if unsupported.is_none() {
            tracing::warn!(reason, "the home directory is read-only for commands");
        }
        *unsupported = Some(reason.to_owned());
    }

    pub fn shortfall(&self) -> Option<String> {
        self.unsupported.locked().clone()
    }

    /// How many bytes a layer holds, unless it was measured a short while ago.
    pub async fn measure(&self, lease: &Arc<LayerLease>) -> Option<u64> {
        let key = lease.directory().to_owned();
        let last = self.measured.locked().get(&key).copied();
        if last.is_some_and(|last| last.at.elapsed() < BETWEEN_MEASURES.max(last.took * SHARE)) {
            return None;
        }
        let (began, layer) = (Instant::now(), lease.layer().clone());
        let size = tokio::task::spawn_blocking(move || layer.size()).await.ok()?;
        self.measured.locked().insert(key, Measured { at: Instant::now(), took: began.elapsed() });
        Some(size.bytes)
    }
}

/// A number for what a mount of the home shows. Servers with the same number can share the mount.
fn view(home: &Home, masks: &[Mask]) -> u64 {
    let mut hash = DefaultHasher::new();
    env!("CARGO_PKG_VERSION").hash(&mut hash);
    // The guard of a server that works on a draft cannot enter namespaces that were made outside the draft's.
    Identity::of(Path::new("/proc/self/ns/user")).hash(&mut hash);
    home.path.hash(&mut hash);
    masks.iter().filter(|mask| mask.at.starts_with(&home.path)).for_each(|mask| mask.hash(&mut hash));
    hash.finish()
}
