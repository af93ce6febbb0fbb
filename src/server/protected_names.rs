//! What the whole server knows of protected names: which they are, and the watch over each directory of a scope. Each
//! session has a [`super::NameWatch`] that uses it.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::OnceCell;

use super::scope_watch::ScopeWatch;
use crate::base::locks::LockExt;
use crate::base::protected_names::Names;
use crate::base::search_path::variable;
use crate::base::worker_threads;
use crate::config::Config;
use crate::inventory::{self, Inventory, Span, Window};
use crate::sandbox::{Level, Mode};

#[derive(Debug)]
pub struct ProtectedNames {
    mode: Mode,
    names: Arc<Names>,
    home: Option<PathBuf>,
    watches: Mutex<HashMap<PathBuf, Arc<Cell>>>,
    /// Those of sessions that began with other settings. Their commands work in the same directories.
    former: Option<Arc<Self>>,
}

type Cell = OnceCell<Arc<ScopeWatch>>;

/// A first command waits so long for the first walk. The rest of a larger tree is walked in the background.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// Whatever takes so much longer waits for a file system that does not answer.
const STUCK: Duration = Duration::from_secs(2);

impl ProtectedNames {
    pub fn new(config: &Config) -> Self {
        Self {
            mode: config.sandbox.mode,
            names: Arc::new(Names::new(&config.sandbox.protect)),
            home: variable(&config.environment, "HOME").map(PathBuf::from).filter(|home| home.is_absolute()),
            watches: Mutex::default(),
            former: None,
        }
    }

    /// For sessions that begin after the settings have changed. The same ones, if what they depend on has not.
    pub fn renewed(former: &Arc<Self>, config: &Config) -> Arc<Self> {
        let new = Self::new(config);
        if (new.mode, &new.names) == (former.mode, &former.names) {
            return former.clone();
        }
        Arc::new(Self { former: Some(former.clone()), ..new })
    }

    pub fn names(&self) -> &Arc<Names> {
        &self.names
    }

    /// The protected name that a path falls under; `relative` is the path seen from a directory in scope. Nothing is protected
    /// where commands may write everything.
    pub fn protecting(&self, relative: &Path, path: &Path) -> Option<String> {
        if self.mode == Mode::Off {
            return None;
        }
        let name = self.names.protecting(relative).map(str::to_owned);
        name.or_else(|| inventory::git_role(path, self.home.as_deref()).map(str::to_owned))
    }

    /// Walks the scope while the agent still thinks: a large one takes a while.
    pub fn prepare(self: &Arc<Self>, scope: Vec<PathBuf>, level: Level) {
        let names = self.clone();
        tokio::spawn(async move { names.watches(&scope, level).await });
    }

    /// The watches over a scope. Empty where commands can write nothing, or may write everything.
    pub async fn watches(&self, scope: &[PathBuf], level: Level) -> Vec<Arc<ScopeWatch>> {
        if self.mode != Mode::WorkspaceWrite || level == Level::None {
            return Vec::new();
        }
        let outermost =
            scope.iter().filter(|path| !scope.iter().any(|other| other != *path && path.starts_with(other)));
        let mut found = Vec::new();
        for root in outermost {
            let cell = self.cell(root);
            let window = Window { busy: self.spans(root), patient: false };
            match cell.get_or_try_init(|| self.begin(root.clone(), level == Level::Full, window)).await {
                Ok(watch) => found.push(watch.clone()),
                Err(error) => tracing::warn!(%error, root = %root.display(), "protected names are not watched"),
            }
        }
        found
    }

    /// The watches over all directories that contain a path.
    pub fn watching(&self, path: &Path) -> Vec<Arc<ScopeWatch>> {
        self.all().into_iter().filter(|watch| path.starts_with(watch.root())).collect()
    }

    async fn begin(&self, root: PathBuf, mounted: bool, window: Window) -> io::Result<Arc<ScopeWatch>> {
        let take = || {
            let (names, home, root, window) = (self.names.clone(), self.home.clone(), root.clone(), window.clone());
            worker_threads::run(move || {
                let begun = Inventory::begin(&root, names, home, mounted, &window, Instant::now() + LONGEST_WAIT);
                begun.map(|(inventory, found)| ScopeWatch::new(&root, inventory, found))
            })
        };
        // A file system that stops answering in the middle of a walk keeps its thread for ever. The next walk asks it first,
        // and leaves it out.
        let begun = match tokio::time::timeout(LONGEST_WAIT + STUCK, take()).await {
            Ok(begun) => begun,
            Err(_) => take().await,
        };
        begun.map_err(io::Error::other)?
    }

    /// When commands were at work in a directory that overlaps with this one. Then not all that stands there is the person's
    /// own.
    fn spans(&self, root: &Path) -> Vec<Span> {
        let overlaps = |watch: &Arc<ScopeWatch>| watch.root().starts_with(root) || root.starts_with(watch.root());
        let own = self.all().into_iter().filter(overlaps).flat_map(|watch| watch.spans());
        own.chain(self.former.iter().flat_map(|former| former.spans(root))).collect()
    }

    fn cell(&self, root: &Path) -> Arc<Cell> {
        let mut watches = self.watches.locked();
        // A directory is forgotten when the sessions that worked there have ended.
        watches.retain(|_, cell| Arc::strong_count(cell) > 1 || cell.get().is_some_and(|watch| !watch.is_abandoned()));
        watches.entry(root.to_owned()).or_default().clone()
    }

    fn all(&self) -> Vec<Arc<ScopeWatch>> {
        self.watches.locked().values().filter_map(|cell| cell.get().cloned()).collect()
    }
}
