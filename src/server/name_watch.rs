//! A session's watch over protected names: what a command did to them is looked at when it ends, near at hand at once and
//! everywhere else by a sweep in the background.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use super::{KeeperLife, Notes, ProtectedNames, Workplace};
use crate::base::locks::LockExt;
use crate::sandbox::Level;
use crate::sandbox::sentry::{Reach, Report, Sentry};

const BETWEEN_SWEEPS: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub struct NameWatch {
    names: Arc<ProtectedNames>,
    keepers: Arc<KeeperLife>,
    notes: Notes,
    /// None where commands can write nothing or everything, and before the first command.
    sentry: Mutex<Option<Sentry>>,
    /// When the first command began whose traces nobody has looked for yet.
    busy_since: Mutex<Option<SystemTime>>,
    sweep: Mutex<Sweep>,
}

#[derive(Debug, Default)]
struct Sweep {
    /// The next sweep looks for what came after this.
    since: Option<SystemTime>,
    under_way: bool,
}

impl NameWatch {
    pub fn new(names: Arc<ProtectedNames>, keepers: Arc<KeeperLife>, notes: Notes) -> Self {
        Self { names, keepers, notes, sentry: Mutex::default(), busy_since: Mutex::default(), sweep: Mutex::default() }
    }

    /// Begins to watch a scope, before its keeper is made. Returns the names that stand there, which the keeper makes
    /// read-only. When only the keeper is new, the sentry stays: it knows what stood there before the last command.
    pub async fn begin(&self, scope: &[PathBuf], level: Level, moved: bool) -> Vec<PathBuf> {
        if let Some(sentry) = self.sentry.locked().as_mut() {
            if let Some(since) = *self.busy_since.locked() {
                sentry.check(since, Reach::Everywhere).notes.into_iter().for_each(|note| self.notes.add(note));
            }
            if !moved {
                return sentry.protected();
            }
        }
        let sentry = self.names.sentry(scope, level).await;
        let protected = sentry.as_ref().map(Sentry::protected).unwrap_or_default();
        *self.sentry.locked() = sentry;
        protected
    }

    /// A command runs now.
    pub fn command_started(&self) {
        self.busy_since.locked().get_or_insert_with(SystemTime::now);
    }

    /// After a call: undoes what a command did to protected names near at hand and says so. The rest of the scope is swept
    /// in the background.
    pub async fn look_after(self: &Arc<Self>, still_running: bool) -> Vec<String> {
        let since = if still_running { *self.busy_since.locked() } else { self.busy_since.locked().take() };
        let Some(since) = since else { return Vec::new() };
        let report = self.sentry.locked().as_mut().map(|sentry| sentry.check(since, Reach::Near));
        let notes = self.act_on(report.unwrap_or_default()).await;
        let mut sweep = self.sweep.locked();
        sweep.since = Some(sweep.since.map_or(since, |earlier| earlier.min(since)));
        if !std::mem::replace(&mut sweep.under_way, true) {
            tokio::spawn(self.clone().sweep());
        }
        notes
    }

    /// Looks everywhere, again and again until no command has run since the last sweep.
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
                let (watch, walked) = (self.clone(), self.names.walk_later(&roots).await);
                let check = move || {
                    let mut sentry = watch.sentry.locked();
                    // A sentry for another scope has just looked at everything there.
                    let sentry = sentry.as_mut().filter(|sentry| sentry.roots() == roots)?;
                    Some(sentry.check_walked(since, &walked))
                };
                let report = tokio::task::spawn_blocking(check).await.ok().flatten();
                self.act_on(report.unwrap_or_default()).await.into_iter().for_each(|note| self.notes.add(note));
            }
            self.keepers.look_after().await;
            tokio::time::sleep(BETWEEN_SWEEPS).await;
        }
    }

    async fn act_on(&self, report: Report) -> Vec<String> {
        if !report.protect.is_empty() {
            self.keepers.protect(&report.protect).await;
        }
        report.notes
    }

    /// The protected name that a file in that workplace falls under.
    pub fn protecting(&self, workplace: &Workplace, path: &Path) -> Option<String> {
        self.names.protecting(&workplace.below(path)?)
    }

    /// A file under a protected name was written with a person's permission. What stands there now is accepted.
    pub async fn written(&self, path: &Path) {
        let Ok(path) = path.canonicalize() else { return };
        let protect = self.sentry.locked().as_mut().map(|sentry| sentry.written(&path)).unwrap_or_default();
        self.act_on(Report { notes: Vec::new(), protect }).await;
    }
}
