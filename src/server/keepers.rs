//! Who runs a session's commands: one keeper at a time, replaced when it dies or when the scope outgrows it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use super::confinement::TooWeak;
use super::{Confinement, Workplace};
use crate::base::locks::LockExt;
use crate::exec::{Keeper, KeeperError};
use crate::sandbox::sentry::{Reach, Report, Sentry};
use crate::sandbox::{Level, explain};

const BETWEEN_SWEEPS: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub struct Keepers {
    confinement: Arc<Confinement>,
    /// The session's temporary directory, as the host sees it.
    tmp: io::Result<PathBuf>,
    made: tokio::sync::Mutex<Made>,
    notes: Mutex<Vec<String>>,
    /// Looks after protected names; none where commands can write nothing or everything.
    sentry: Mutex<Option<Sentry>>,
    /// When the first command began that the sentry has not looked after yet.
    busy_since: Mutex<Option<SystemTime>>,
    sweep: Mutex<Sweep>,
}

#[derive(Debug, Default)]
struct Sweep {
    /// What to look for by the next one.
    since: Option<SystemTime>,
    under_way: bool,
}

/// The keeper of commands to come, and those before it whose commands still run.
#[derive(Debug, Default)]
struct Made {
    current: Option<Arc<Keeper>>,
    /// What the current one was made for.
    scope: Vec<PathBuf>,
    former: Vec<Arc<Keeper>>,
}

impl Keepers {
    pub fn new(confinement: Arc<Confinement>, tmp: io::Result<PathBuf>) -> Self {
        Self {
            confinement,
            tmp,
            made: tokio::sync::Mutex::default(),
            notes: Mutex::default(),
            sentry: Mutex::default(),
            busy_since: Mutex::default(),
            sweep: Mutex::default(),
        }
    }

    /// The living keeper for that scope, made anew when there is none. Commands of an outgrown one run on; later ones get
    /// the new one.
    pub async fn current(&self, scope: &[PathBuf]) -> Result<Arc<Keeper>, KeeperError> {
        let mut made = self.made.lock().await;
        // A wider scope would be out of reach, a narrower one would be exceeded.
        let moved = made.scope != scope;
        if let Some(former) = made.current.take_if(|keeper| moved || keeper.is_dead()) {
            if !former.is_dead() {
                // What is no longer in scope cannot be written any more, by whatever still runs there.
                let gone = made.scope.iter().filter(|old| !scope.iter().any(|new| old.starts_with(new)));
                if let Err(error) = former.protect(&gone.cloned().collect::<Vec<_>>()).await {
                    tracing::warn!(%error, "running commands keep the scope they had");
                }
                self.note(
                    "the scope has changed: pids of earlier commands are not visible any more, use task ids".to_owned(),
                );
            }
            made.former.push(former);
            made.former.retain(|former| !former.is_dead());
        }
        if let Some(current) = &made.current {
            return Ok(current.clone());
        }
        let no_tmp = |error| KeeperError::Refused(format!("failed to make the session's temporary directory: {error}"));
        let tmp = self.tmp.as_ref().map_err(no_tmp)?;
        let weak = |error: TooWeak| KeeperError::Refused(error.to_string());
        let mut profile = self.confinement.profile(scope, tmp).await.map_err(weak)?;
        profile.protected = self.post_sentry(scope, profile.level, moved).await;
        let keeper = Arc::new(self.confinement.keeper(profile).await?);
        scope.clone_into(&mut made.scope);
        Ok(made.current.insert(keeper).clone())
    }

    /// Has protected names looked after in that scope, and says which there are. Whoever looked after them before knows
    /// what stood there before the last command, so a keeper that died does not replace it.
    async fn post_sentry(&self, scope: &[PathBuf], level: Level, moved: bool) -> Vec<PathBuf> {
        if let Some(sentry) = self.sentry.locked().as_mut() {
            if let Some(since) = *self.busy_since.locked() {
                sentry.check(since, Reach::Everywhere).notes.into_iter().for_each(|note| self.note(note));
            }
            if !moved {
                return sentry.protected();
            }
        }
        let sentry = self.confinement.sentry(scope, level).await;
        let protected = sentry.as_ref().map(Sentry::protected).unwrap_or_default();
        *self.sentry.locked() = sentry;
        protected
    }

    /// What holds on this machine, as far as it is known by now.
    pub fn level(&self) -> Level {
        self.confinement.found_so_far().map_or(Level::None, |found| found.level)
    }

    /// The session's temporary directory as the host sees it.
    pub fn tmp(&self) -> Option<&Path> {
        self.tmp.as_deref().ok()
    }

    /// A command runs now; what it leaves behind is looked after by [`Keepers::look_after`].
    pub fn command_started(&self) {
        self.busy_since.locked().get_or_insert_with(SystemTime::now);
    }

    /// After a call: undoes what a command did to protected names near at hand, and has the rest looked through.
    pub async fn look_after(self: &Arc<Self>, still_running: bool) {
        let since = if still_running { *self.busy_since.locked() } else { self.busy_since.locked().take() };
        let Some(since) = since else { return };
        let report = self.sentry.locked().as_mut().map(|sentry| sentry.check(since, Reach::Near));
        self.act_on(report).await;
        let earliest = |sweep_since: SystemTime| sweep_since.min(since);
        let mut sweep = self.sweep.locked();
        sweep.since = Some(sweep.since.map_or(since, earliest));
        if !std::mem::replace(&mut sweep.under_way, true) {
            tokio::spawn(self.clone().sweep());
        }
    }

    /// Looks everywhere, for as long as commands have run meanwhile.
    async fn sweep(self: Arc<Self>) {
        loop {
            let since = {
                let mut sweep = self.sweep.locked();
                sweep.under_way = sweep.since.is_some();
                sweep.since.take()
            };
            let Some(since) = since else { return };
            let roots = self.sentry.locked().as_ref().map(|sentry| sentry.roots().to_vec());
            if let Some(roots) = roots {
                let (keepers, walked) = (self.clone(), self.confinement.walk_later(&roots).await);
                let check = move || {
                    let mut sentry = keepers.sentry.locked();
                    // One for another scope began with a look at everything there.
                    let sentry = sentry.as_mut().filter(|sentry| sentry.roots() == roots)?;
                    Some(sentry.check_walked(since, &walked))
                };
                let report = tokio::task::spawn_blocking(check).await.ok().flatten();
                self.act_on(report).await;
            }
            self.hide_new_secrets().await;
            tokio::time::sleep(BETWEEN_SWEEPS).await;
        }
    }

    /// A secret that was not there when a keeper was made is hidden from it when it comes.
    async fn hide_new_secrets(&self) {
        let made = self.made.lock().await;
        for keeper in made.current.iter().chain(&made.former) {
            if let Err(error) = keeper.hide_new_secrets().await {
                tracing::warn!(%error, "new credential files could not be hidden");
            }
        }
    }

    async fn act_on(&self, report: Option<Report>) {
        let Some(report) = report else { return };
        report.notes.into_iter().for_each(|note| self.note(note));
        if report.protect.is_empty() {
            return;
        }
        let made = self.made.lock().await;
        for keeper in made.current.iter().chain(&made.former) {
            if let Err(error) = keeper.protect(&report.protect).await {
                tracing::warn!(%error, "new protected names could not be made read-only");
            }
        }
    }

    /// See [`Confinement::secrets_in`].
    pub fn secrets_in(&self, directories: &[PathBuf]) -> Vec<PathBuf> {
        self.confinement.secrets_in(directories)
    }

    /// The protected name that a file in that workplace falls under.
    pub fn protecting(&self, workplace: &Workplace, path: &Path) -> Option<String> {
        self.confinement.protecting(&workplace.below(path)?)
    }

    /// A file under a protected name was written with a person's permission: what stands there now is as it should be.
    pub async fn written(&self, path: &Path) {
        let Ok(path) = path.canonicalize() else { return };
        let protect = self.sentry.locked().as_mut().map(|sentry| sentry.written(&path)).unwrap_or_default();
        self.act_on(Some(Report { notes: Vec::new(), protect })).await;
    }

    /// Notes why something was refused, if a failed command's words and the profile together say so.
    pub fn explain(&self, cwd: &Path, stderr: &str) {
        let Ok(made) = self.made.try_lock() else { return };
        let reason = made.current.as_ref().and_then(|keeper| explain::explain(keeper.profile(), cwd, stderr));
        reason.into_iter().for_each(|reason| self.note(reason));
    }

    /// Something that the agent should know with its next result.
    pub fn note(&self, note: String) {
        self.notes.locked().push(note);
    }

    /// What the sandbox did by itself since the last result, and why.
    pub fn take_notes(&self) -> Vec<String> {
        let mut notes = std::mem::take(&mut *self.notes.locked());
        // Somebody who starts a keeper right now has nothing to tell.
        if let Ok(made) = self.made.try_lock() {
            notes.extend(made.current.iter().chain(&made.former).flat_map(|keeper| keeper.take_notes()));
        }
        notes
    }

    /// Ends them all, with everything they still run.
    pub async fn end(&self) {
        *self.made.lock().await = Made::default();
    }
}
