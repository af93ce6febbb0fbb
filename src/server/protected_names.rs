//! What the whole server knows of protected names: which they are, and what stands in a scope. Each session has a
//! [`super::NameWatch`] that uses it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tokio::task::JoinHandle;

use super::shared_walks::{Haste, SharedWalks};
use crate::base::locks::LockExt;
use crate::base::protected_names::{Names, git_configuration};
use crate::sandbox::sentry::{Reach, Sentry, Walked};
use crate::sandbox::{Level, Mode, Settings};

#[derive(Debug)]
pub struct ProtectedNames {
    mode: Mode,
    names: Arc<Names>,
    walks: SharedWalks,
    prepared: Mutex<Option<Prepared>>,
}

/// A sentry that is being made before the first command asks for it, and for which scope.
#[derive(Debug)]
struct Prepared {
    scope: Vec<PathBuf>,
    sentry: JoinHandle<Option<Sentry>>,
}

impl ProtectedNames {
    pub fn new(settings: &Settings) -> Self {
        Self {
            mode: settings.mode,
            names: Arc::new(Names::new(&settings.protect)),
            walks: SharedWalks::default(),
            prepared: Mutex::default(),
        }
    }

    pub fn names(&self) -> &Arc<Names> {
        &self.names
    }

    /// The protected name that a path falls under, seen from a directory in scope. Nothing is protected where commands may
    /// write everything.
    pub fn protecting(&self, relative: &Path) -> Option<String> {
        let git = || git_configuration().protecting(relative).map(str::to_owned);
        let name = self.names.protecting(relative).map(str::to_owned).or_else(git);
        name.filter(|_| self.mode != Mode::Off)
    }

    /// Walks the scope while the agent still thinks: a large one takes a while.
    pub fn prepare(self: &Arc<Self>, scope: Vec<PathBuf>, level: Level) {
        let (names, directories) = (self.clone(), scope.clone());
        let sentry = tokio::spawn(async move { names.look_around(&directories, level).await });
        *self.prepared.locked() = Some(Prepared { scope, sentry });
    }

    /// A sentry for that scope. Whatever stands there now is the person's own. `None` where commands can write nothing, or
    /// may write everything.
    pub async fn sentry(&self, scope: &[PathBuf], level: Level) -> Option<Sentry> {
        let prepared = self.prepared.locked().take();
        if let Some(prepared) = prepared.filter(|prepared| prepared.scope == scope) {
            let mut sentry = prepared.sentry.await.ok().flatten();
            // No command has run yet, so what has come since the server's start is the person's own too.
            sentry.iter_mut().for_each(|sentry| sentry.accept(Reach::Near));
            return sentry;
        }
        self.look_around(scope, level).await
    }

    async fn look_around(&self, scope: &[PathBuf], level: Level) -> Option<Sentry> {
        if self.mode != Mode::WorkspaceWrite || level == Level::None || scope.is_empty() {
            return None;
        }
        let (names, scope) = (self.names.clone(), scope.to_vec());
        let walked = self.walks.walk(&scope, &names, Haste::Now).await;
        let make = move || Sentry::new(names, scope, level == Level::Full, &walked);
        tokio::task::spawn_blocking(make).await.ok()
    }

    /// Walks the scope for a sweep, which can wait for its turn.
    pub async fn walk_later(&self, scope: &[PathBuf]) -> Arc<Walked> {
        self.walks.walk(scope, &self.names, Haste::Later).await
    }
}
