//! What is secret on this machine now. Checked before each command and each file tool: credentials come and go, and their
//! owners replace them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::base::identity::Identity;
use crate::base::locks::LockExt;
use crate::base::mounts;
use crate::files;
use crate::sandbox::secrets::{Finder, Mask, Names, Stamped, Watch};

#[derive(Debug)]
pub struct Secrets {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    finder: Finder,
    known: Mutex<Option<Arc<Known>>>,
}

#[derive(Debug)]
struct Known {
    masks: Masks,
    watch: Watch,
    /// Every file and directory that was found to be secret since the server started, wherever it was moved since.
    identities: HashSet<Identity>,
}

/// How long a look at the secrets may take where a file system may stop answering in the middle of it.
const PATIENCE: Duration = Duration::from_secs(1);

/// The masks in force. The number grows when they change.
#[derive(Clone, Debug)]
pub struct Masks {
    pub number: u64,
    pub all: Arc<Vec<Stamped>>,
    /// The same without their stamps. All profiles share it.
    pub list: Arc<[Mask]>,
}

impl Masks {
    fn new(number: u64, all: Vec<Stamped>) -> Self {
        Self { number, list: all.iter().map(|stamped| stamped.mask.clone()).collect(), all: Arc::new(all) }
    }
}

impl Secrets {
    pub fn new(finder: Finder) -> Self {
        Self { inner: Arc::new(Inner { finder, known: Mutex::default() }) }
    }

    pub fn now(&self) -> Masks {
        self.known().masks.clone()
    }

    fn known(&self) -> Arc<Known> {
        if !mounts::any_may_hang() {
            return self.inner.look();
        }
        // On a desktop there is such a file system, but hardly ever with a secret in it.
        let known = self.inner.known.locked().clone();
        if let Some(known) = known.filter(|known| !known.watch.may_hang() && !known.watch.has_changed()) {
            return known;
        }
        // A thread that meets a file system that has just stopped waits there, and the next one knows better.
        let look = || {
            let (inner, (found, finding)) = (self.inner.clone(), std::sync::mpsc::channel());
            let thread = std::thread::Builder::new().name("secrets".to_owned());
            thread.spawn(move || found.send(inner.look())).ok()?;
            finding.recv_timeout(PATIENCE).ok()
        };
        let before = || self.inner.known.locked().clone();
        // Without any knowledge nothing would be hidden, so that we wait for the first look.
        look().or_else(look).or_else(before).unwrap_or_else(|| self.inner.look())
    }

    /// For the file tools, which refuse secrets too: by path in these directories, and by identity everywhere.
    pub fn for_files(&self, directories: &[PathBuf]) -> files::Secrets {
        let known = self.known();
        let inside = |path: &Path| directories.iter().any(|directory| path.starts_with(directory));
        let paths = known.masks.all.iter().map(|stamped| &stamped.mask.at);
        let hidden = paths.filter(|path| inside(path)).cloned().collect();
        files::Secrets::new(hidden, known.identities.clone())
    }
}

impl Inner {
    /// Finds the secrets and watches them. Something that comes after the search and before the watch would never be noticed,
    /// so this searches once more. What comes after the watch began is noticed by the next look.
    fn watched(&self) -> (Watch, Vec<Stamped>) {
        const TRIES: usize = 3;
        let mut found = self.finder.find();
        for _ in 0..TRIES {
            let begun = Watch::begin(found.clone());
            let again = self.finder.find();
            if again == found {
                return begun;
            }
            found = again;
        }
        Watch::begin(found)
    }

    /// Looks for secrets if anything has changed since the last time.
    fn look(&self) -> Arc<Known> {
        // The lock is not held while we look: a file system may stop answering meanwhile.
        let before = self.known.locked().clone();
        if let Some(known) = &before
            && !known.watch.has_changed()
        {
            return known.clone();
        }
        let (watch, all) = self.watched();
        let mut identities = before.as_ref().map(|known| known.identities.clone()).unwrap_or_default();
        let mut names = Names::default();
        let there = all.iter().map(|stamped| &stamped.mask.at).filter(|path| names.may_have(path));
        identities.extend(there.filter_map(|path| Identity::of(path)));
        let masks = match &before {
            Some(known) if *known.masks.all == all => known.masks.clone(),
            before => Masks::new(before.as_ref().map_or(0, |known| known.masks.number + 1), all),
        };
        let mut known = self.known.locked();
        match &*known {
            // Another thread was faster and knows more.
            Some(newer) if before.is_none_or(|before| !Arc::ptr_eq(&before, newer)) => newer.clone(),
            _ => known.insert(Arc::new(Known { masks, watch, identities })).clone(),
        }
    }
}
