//! A session's part in the watch over protected names: it says when commands start and end, and asks the person about what
//! was found.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::running_commands::{RunningCommands, Starting};
use super::scope_watch::ScopeWatch;
use super::{Context, KeeperLife, ProtectedNames, Session, Workplace};
use crate::base::locks::LockExt;
use crate::exec::Process;
use crate::inventory::Undone;
use crate::sandbox::Level;

#[derive(Debug)]
pub struct NameWatch {
    names: Arc<ProtectedNames>,
    keepers: Arc<KeeperLife>,
    running: RunningCommands,
    /// One for each directory that the session works or has worked in. Empty where commands can write nothing or
    /// everything.
    scopes: Mutex<Vec<Arc<ScopeWatch>>>,
    hiding: AtomicBool,
}

const BETWEEN_LOOKS_FOR_SECRETS: Duration = Duration::from_secs(2);

impl NameWatch {
    pub fn new(names: Arc<ProtectedNames>, keepers: Arc<KeeperLife>) -> Self {
        let (running, scopes, hiding) = (RunningCommands::default(), Mutex::default(), AtomicBool::default());
        Self { names, keepers, running, scopes, hiding }
    }

    /// Begins to watch a scope, before its keeper is made. Returns what the keeper has to make read-only.
    pub async fn begin(self: &Arc<Self>, scope: &[PathBuf], level: Level) -> Vec<PathBuf> {
        let watches = self.names.watches(scope, level).await;
        let mut locked = Vec::new();
        for watch in watches {
            watch.join(self);
            locked.extend(watch.locked().await);
            let mut scopes = self.scopes.locked();
            if !scopes.iter().any(|known| Arc::ptr_eq(known, &watch)) {
                scopes.push(watch);
            }
        }
        locked
    }

    /// A command is about to start, and counts as running as long as the returned value lives.
    pub async fn command_starts(&self) -> Starting<'_> {
        let starting = self.running.start();
        self.running.closed().await;
        for watch in self.scopes() {
            watch.command_starts().await;
        }
        starting
    }

    /// Keeps a handle on what a command runs.
    pub fn keep(&self, process: Process) {
        self.running.keep(process);
    }

    pub fn is_running(&self) -> bool {
        self.running.any()
    }

    /// Waits until what runs now has ended.
    pub async fn idle(&self) {
        self.running.idle().await;
    }

    /// What the session has to end when it is over. It counts as running until [`NameWatch::end`].
    pub fn processes(&self) -> Vec<Process> {
        self.running.processes()
    }

    pub fn keepers(&self) -> &KeeperLife {
        &self.keepers
    }

    /// After a call: undoes what commands did to protected names and may not stay, and asks the person about it where the
    /// call can. Returns what the agent should know.
    pub async fn look_after(self: &Arc<Self>, session: &Session, context: &Context) -> Vec<String> {
        let mut notes = Vec::new();
        for watch in self.scopes() {
            let report = watch.look_near().await;
            notes.extend(report.notes());
            for undone in report.undone {
                // Rare and large, so it is on the heap and not a part of every call.
                if !Box::pin(context.wants(session, &undone)).await {
                    notes.push(undone.note());
                    continue;
                }
                notes.push(match watch.take_over(undone.clone()).await {
                    Ok(()) => format!("{} stays: the person has allowed it", undone.path.display()),
                    Err(error) => format!("{}. The person has allowed it, but that failed: {error}", undone.note()),
                });
            }
        }
        self.hide_new_secrets();
        notes
    }

    fn hide_new_secrets(self: &Arc<Self>) {
        if self.hiding.swap(true, Ordering::SeqCst) {
            return;
        }
        let watch = self.clone();
        tokio::spawn(async move {
            watch.keepers.look_after().await;
            tokio::time::sleep(BETWEEN_LOOKS_FOR_SECRETS).await;
            watch.hiding.store(false, Ordering::SeqCst);
        });
    }

    /// The session is over and its processes are dead: looks at everything once more. No result can tell what was found, so
    /// the log does.
    pub async fn end(&self) {
        self.running.clear();
        for watch in self.scopes() {
            let report = watch.look_for_the_last_time().await;
            let undone = report.undone.iter().map(Undone::note);
            report.notes().into_iter().chain(undone).for_each(|note| tracing::warn!("{note}"));
        }
        self.scopes.locked().clear();
    }

    /// The protected name that a file in that workplace falls under.
    pub fn protecting(&self, workplace: &Workplace, path: &Path) -> Option<String> {
        self.names.protecting(&workplace.below(path)?, path)
    }

    /// A file under a protected name was written with a person's permission. What stands there now is accepted.
    pub async fn written(&self, path: &Path) {
        let Ok(path) = path.canonicalize() else { return };
        for watch in self.names.watching(&path) {
            watch.written(path.clone()).await;
        }
    }

    fn scopes(&self) -> Vec<Arc<ScopeWatch>> {
        self.scopes.locked().clone()
    }
}
