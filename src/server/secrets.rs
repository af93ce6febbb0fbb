//! What is secret on this machine now. Checked before each command and each file tool: credentials come and go, and their
//! owners replace them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::base::identity::Identity;
use crate::base::locks::LockExt;
use crate::files;
use crate::sandbox::secrets::{Finder, Mask, Shows, Stamped, Watch};

#[derive(Debug)]
pub struct Secrets {
    finder: Finder,
    known: Mutex<Option<Known>>,
}

#[derive(Debug)]
struct Known {
    masks: Masks,
    watch: Watch,
    /// Every file and directory that was found to be secret since the server started, wherever it was moved since.
    identities: HashSet<Identity>,
}

/// The masks in force. The number grows when they change.
#[derive(Clone, Debug)]
pub struct Masks {
    pub number: u64,
    pub all: Arc<Vec<Stamped>>,
}

impl Masks {
    pub fn list(&self) -> Vec<Mask> {
        self.all.iter().map(|stamped| stamped.mask.clone()).collect()
    }
}

impl Secrets {
    pub fn new(finder: Finder) -> Self {
        Self { finder, known: Mutex::default() }
    }

    pub fn now(&self) -> Masks {
        let mut known = self.known.locked();
        if let Some(known) = &*known
            && !known.watch.has_changed()
        {
            return known.masks.clone();
        }
        let (watch, all) = Watch::begin(self.finder.find());
        let mut identities = known.as_ref().map(|known| known.identities.clone()).unwrap_or_default();
        identities.extend(all.iter().filter_map(|stamped| Identity::of(&stamped.mask.at)));
        let masks = match &*known {
            Some(known) if *known.masks.all == all => known.masks.clone(),
            before => Masks { number: before.as_ref().map_or(0, |known| known.masks.number + 1), all: Arc::new(all) },
        };
        *known = Some(Known { masks: masks.clone(), watch, identities });
        masks
    }

    /// For the file tools, which refuse secrets too: by path in these directories, and by identity everywhere.
    pub fn for_files(&self, directories: &[PathBuf]) -> files::Secrets {
        let masks = self.now();
        let inside = |path: &Path| directories.iter().any(|directory| path.starts_with(directory));
        let hidden = masks.all.iter().map(|stamped| &stamped.mask).filter(|mask| inside(&mask.at));
        let hidden = hidden.map(|mask| files::HiddenPath {
            path: mask.at.clone(),
            shown: match &mask.shows {
                Shows::Only(entries) => entries.clone(),
                Shows::Nothing | Shows::Cleaned { .. } => Vec::new(),
            },
        });
        let hidden = hidden.collect();
        // A directory of which something is shown is checked by path: its identity would deny all of it.
        let partly = masks.all.iter().filter(|stamped| matches!(stamped.mask.shows, Shows::Only(_)));
        let partly: HashSet<Identity> = partly.filter_map(|stamped| Identity::of(&stamped.mask.at)).collect();
        let identities = self.known.locked().as_ref().map(|known| known.identities.clone()).unwrap_or_default();
        files::Secrets::new(hidden, identities.difference(&partly).copied().collect())
    }
}
