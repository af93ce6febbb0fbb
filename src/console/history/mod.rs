//! What was done, from the audit log: one [`Entry`] per call. [`index`] makes them from the lines of the log, [`query`] finds
//! some of them, and [`timeline`] is the picture of a day.

mod entry;
mod index;
mod query;
mod timeline;

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::base::locks::LockExt;
use crate::control::Viewer;
use entry::Entry;
use index::Index;
use query::{Found, Query};
use timeline::{Day, DayQuery};

/// The entries are in memory while somebody looks at them.
pub struct History {
    directory: PathBuf,
    /// Only what happened in this server is shown.
    server: Option<String>,
    inner: Arc<Mutex<Option<Loaded>>>,
}

struct Loaded {
    index: Index,
    used: Instant,
}

/// After this time without a question the entries leave the memory.
const KEPT: Duration = Duration::from_mins(5);

impl History {
    pub fn new(directory: PathBuf, server: Option<String>) -> Self {
        Self { directory, server, inner: Arc::default() }
    }

    pub fn list(&self, viewer: &Viewer, query: &Query) -> io::Result<Found> {
        self.with(|index| query.list(self.visible(index, viewer)))
    }

    pub fn timeline(&self, viewer: &Viewer, query: &DayQuery) -> io::Result<Day> {
        self.with(|index| query.draw(self.visible(index, viewer)))
    }

    /// The newest first.
    fn visible<'a>(&'a self, index: &'a Index, viewer: &'a Viewer) -> impl Iterator<Item = &'a Entry> + Clone {
        let own = |entry: &&Entry| self.server.as_ref().is_none_or(|server| *server == *entry.server);
        let sees = |entry: &&Entry| match &entry.principal {
            Some(principal) => viewer.sees(principal),
            None => *viewer == Viewer::Owner,
        };
        index.entries().filter(own).filter(sees)
    }

    fn with<T>(&self, ask: impl FnOnce(&Index) -> T) -> io::Result<T> {
        let mut inner = self.inner.locked();
        if inner.is_none() {
            self.forget_later();
        }
        let loaded = inner.get_or_insert_with(|| Loaded { index: Index::new(&self.directory), used: Instant::now() });
        loaded.used = Instant::now();
        loaded.index.read_on()?;
        Ok(ask(&loaded.index))
    }

    fn forget_later(&self) {
        let inner = Arc::downgrade(&self.inner);
        let forget = move || {
            loop {
                std::thread::sleep(KEPT / 5);
                let Some(inner) = inner.upgrade() else { return };
                if inner.locked().take_if(|loaded| loaded.used.elapsed() > KEPT).is_some() {
                    return;
                }
            }
        };
        // Where no thread can be started, the entries stay.
        let _ = std::thread::Builder::new().name("history".to_owned()).spawn(forget);
    }
}
