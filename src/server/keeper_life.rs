//! The life of a session's keepers: one runs the commands to come, made on first use and replaced when it dies or when
//! the scope changes. Earlier ones live on while their commands do.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::profiles::{Plan, Profiles, TooWeak, WorkArea};
use super::{Hosts, Notes, Proxies, SpareKeeper};
use crate::base::size;
use crate::exec::{DiskFull, Excess, KeeperError, KeeperLink, OwnNetwork, SessionDirectory};
use crate::policy::Grant;
use crate::sandbox::secrets::write_settings_copies;
use crate::sandbox::{Level, obstacles};

pub const NO_TMP: &str = "failed to make the session's temporary directory";
/// In the session's temporary directory: copies of settings for tools that cannot read their own.
const SETTINGS: &str = ".testudo-settings";

#[derive(Debug)]
pub struct KeeperLife {
    profiles: Arc<Profiles>,
    spare: Arc<SpareKeeper>,
    directory: Arc<SessionDirectory>,
    keepers: tokio::sync::Mutex<Generations>,
    notes: Notes,
    /// If commands reach hosts through a proxy only.
    proxies: Option<Proxies>,
}

/// The keeper of commands to come, and those before it whose commands still run.
#[derive(Debug, Default)]
struct Generations {
    current: Option<Arc<KeeperLink>>,
    /// What the current one was made for.
    scope: Vec<PathBuf>,
    former: Vec<Arc<KeeperLink>>,
    /// The number of the masks that they all have put up.
    masked: u64,
}

impl KeeperLife {
    pub fn new(
        profiles: Arc<Profiles>,
        spare: Arc<SpareKeeper>,
        directory: Arc<SessionDirectory>,
        notes: Notes,
        proxies: Option<Proxies>,
    ) -> Self {
        Self { profiles, spare, directory, keepers: tokio::sync::Mutex::default(), notes, proxies }
    }

    /// The living keeper for that scope, made anew when there is none. `protected` names what a new keeper must make
    /// read-only; it is told the level.
    pub async fn current(
        &self,
        project: &Path,
        scope: &[PathBuf],
        protected: impl AsyncFnOnce(Level) -> Vec<PathBuf>,
    ) -> Result<Arc<KeeperLink>, KeeperError> {
        let mut keepers = self.keepers.lock().await;
        self.mask_secrets(&mut keepers).await;
        // A wider scope would be out of the keeper's reach, a narrower one would be exceeded.
        let moved = keepers.scope != scope;
        if let Some(former) = keepers.current.take_if(|keeper| moved || keeper.is_dead()) {
            if !former.is_dead() {
                self.narrow(&former, &keepers.scope, scope).await;
            }
            keepers.former.push(former);
            keepers.former.retain(|former| !former.is_dead());
        }
        if let Some(current) = &keepers.current {
            return Ok(current.clone());
        }
        // Rare and large, so it is on the heap and not a part of every call.
        let keeper = Box::pin(self.make(project, scope, protected, &[])).await?;
        scope.clone_into(&mut keepers.scope);
        Ok(keepers.current.insert(keeper).clone())
    }

    /// A keeper for one command that a rule gives more room. Whoever asks for it ends it with the command.
    pub async fn granted(
        &self,
        project: &Path,
        scope: &[PathBuf],
        protected: impl AsyncFnOnce(Level) -> Vec<PathBuf>,
        grants: &[Grant],
    ) -> Result<Arc<KeeperLink>, KeeperError> {
        let mut keepers = self.keepers.lock().await;
        keepers.former.retain(|former| !former.is_dead());
        let keeper = Box::pin(self.make(project, scope, protected, grants)).await?;
        keepers.former.push(keeper.clone());
        Ok(keeper)
    }

    async fn make(
        &self,
        project: &Path,
        scope: &[PathBuf],
        protected: impl AsyncFnOnce(Level) -> Vec<PathBuf>,
        grants: &[Grant],
    ) -> Result<Arc<KeeperLink>, KeeperError> {
        let mut plan = plan(&self.profiles, &self.spare, &self.directory, (project, scope)).await?;
        let profile = &mut plan.profile;
        profile.protected = protected(profile.level).await;
        self.profiles.give(profile, grants);
        let mut listener = None;
        if let Some(proxies) = &self.proxies {
            listener = proxies.prepare(profile, grants).await.map_err(KeeperError::Prepare)?;
        }
        let wanted_home = plan.home.is_some();
        let keeper = Arc::new(self.spare.take_or_launch(plan).await?);
        if let Some(reason) = keeper.home_shortfall().filter(|_| wanted_home) {
            self.profiles.homes().abandon(reason).await;
        }
        if let Some(proxies) = &self.proxies {
            proxies.serve(&keeper, listener, grants);
        }
        keeper.count_in(self.profiles.totals());
        Ok(keeper)
    }

    /// Commands that still run under a former keeper can no longer write what has left the scope.
    async fn narrow(&self, former: &KeeperLink, old: &[PathBuf], new: &[PathBuf]) {
        let gone = old.iter().filter(|old| !new.iter().any(|new| old.starts_with(new)));
        if let Err(error) = former.protect(&gone.cloned().collect::<Vec<_>>()).await {
            tracing::warn!(%error, "running commands keep the scope they had");
        }
        self.notes
            .add("the scope has changed: pids of earlier commands are not visible any more, use task ids".to_owned());
    }

    /// Makes these names read-only for everything that runs now and later.
    pub async fn protect(&self, names: &[PathBuf]) {
        let keepers = self.keepers.lock().await;
        for keeper in keepers.current.iter().chain(&keepers.former) {
            if let Err(error) = keeper.protect(names).await {
                tracing::warn!(%error, "new protected names could not be made read-only");
            }
        }
    }

    /// Puts up what has become secret, or shows something else, since the keepers were made. It costs a few dozen system
    /// calls if nothing has. A keeper that cannot follow makes way for a new one.
    async fn mask_secrets(&self, keepers: &mut Generations) {
        if keepers.current.is_none() && keepers.former.is_empty() || self.level() == Level::None {
            return;
        }
        let masks = self.profiles.secrets().now();
        if masks.number == keepers.masked {
            return;
        }
        keepers.masked = masks.number;
        let mut outdated = false;
        for keeper in keepers.current.iter().chain(&keepers.former) {
            let current = keepers.current.as_ref().is_some_and(|current| Arc::ptr_eq(current, keeper));
            match keeper.mask(&masks.all).await {
                Ok(followed) => outdated |= current && !followed,
                Err(error) => {
                    tracing::warn!(%error, "new credential files could not be hidden");
                    outdated |= current;
                }
            }
        }
        if outdated {
            keepers.former.extend(keepers.current.take());
        }
    }

    /// While commands run: hides new secrets from them, and closes a home that is full.
    pub async fn look_after(&self) {
        let mut keepers = self.keepers.lock().await;
        self.mask_secrets(&mut keepers).await;
        let Some(keeper) = keepers.current.clone() else { return };
        drop(keepers);
        let Some(lease) = keeper.home() else { return };
        let limit = self.profiles.settings().limits.home;
        if self.profiles.homes().measure(lease).await.is_some_and(|bytes| bytes > limit) {
            let closed = keeper.close_home().await;
            self.notes.add(format!(
                "the private home of this project is full (sandbox.limits.home is {}) and {}; the person can empty it with: \
                 testudo home --reset",
                size::text(limit),
                if closed.is_ok() { "read-only from now on" } else { "will be read-only soon" },
            ));
        }
    }

    /// The session keeps too much on disk: kills the process that writes most.
    pub async fn shed(&self, full: &DiskFull) {
        let keepers = self.keepers.lock().await;
        for keeper in keepers.current.iter().chain(&keepers.former) {
            keeper.shed(Excess::Disk, full.to_string()).await;
        }
    }

    /// What keepers killed because a limit was reached, where no call and no task answers for it.
    pub fn take_notes(&self) -> Vec<String> {
        // Whoever holds the lock starts a keeper right now; that one has nothing to tell yet.
        let Ok(keepers) = self.keepers.try_lock() else { return Vec::new() };
        keepers.current.iter().chain(&keepers.former).flat_map(|keeper| keeper.news().take_unclaimed()).collect()
    }

    /// The networks of the keepers that have one of their own. Empty while a keeper is being made.
    pub fn networks(&self) -> Vec<Arc<OwnNetwork>> {
        let Ok(keepers) = self.keepers.try_lock() else { return Vec::new() };
        let living = keepers.current.iter().chain(&keepers.former).filter(|keeper| !keeper.is_dead());
        living.filter_map(|keeper| keeper.network().cloned()).collect()
    }

    pub fn hosts(&self) -> Option<&Arc<Hosts>> {
        self.proxies.as_ref().map(Proxies::hosts)
    }

    /// The level that holds on this machine, as far as it is known by now.
    pub fn level(&self) -> Level {
        self.profiles.enforcement_so_far().map_or(Level::None, |found| found.level)
    }

    /// The session's temporary directory as the host sees it.
    pub fn tmp(&self) -> Option<&Path> {
        self.directory.temporary().ok()
    }

    /// Ends them all, with everything they still run.
    pub async fn end(&self) {
        /// The holder of the lock makes a keeper, and may wait for a file system that does not answer.
        const PATIENCE: Duration = Duration::from_secs(1);
        let Ok(mut keepers) = tokio::time::timeout(PATIENCE, self.keepers.lock()).await else { return };
        let Generations { current, former, .. } = std::mem::take(&mut *keepers);
        futures::future::join_all(current.iter().chain(&former).map(|keeper| keeper.end())).await;
    }
}

/// What a keeper is made from, except for what only its session knows.
async fn plan(
    profiles: &Profiles,
    spare: &SpareKeeper,
    directory: &SessionDirectory,
    (project, scope): (&Path, &[PathBuf]),
) -> Result<Plan, KeeperError> {
    let no_tmp = |error: &io::Error| KeeperError::Refused(format!("{NO_TMP}: {error}\nfix: {}", obstacles::TEMPORARY));
    let tmp = directory.temporary().map_err(no_tmp)?;
    let weak = |error: TooWeak| KeeperError::Refused(error.to_string());
    let area = WorkArea { project, scope, tmp, directory: directory.server() };
    let mut plan = profiles.plan(area, spare).await.map_err(weak)?;
    let profile = &mut plan.profile;
    if profile.level == Level::Landlock {
        profile.variables.extend(write_settings_copies(&profile.secrets, &tmp.join(SETTINGS)));
    }
    Ok(plan)
}
