//! Who runs a session's commands: one keeper at a time, replaced when it dies or when the scope outgrows it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::Confinement;
use super::confinement::TooWeak;
use crate::exec::{Keeper, KeeperError};
use crate::sandbox::Level;

#[derive(Debug)]
pub struct Keepers {
    confinement: Arc<Confinement>,
    /// The session's temporary directory, as the host sees it.
    tmp: io::Result<PathBuf>,
    made: tokio::sync::Mutex<Made>,
    notes: Mutex<Vec<String>>,
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
        Self { confinement, tmp, made: tokio::sync::Mutex::default(), notes: Mutex::default() }
    }

    /// The living keeper for that scope, made anew when there is none. Commands of an outgrown one run on; later ones get
    /// the new one.
    pub async fn current(&self, scope: &[PathBuf]) -> Result<Arc<Keeper>, KeeperError> {
        let mut made = self.made.lock().await;
        // A wider scope would be out of reach, a narrower one would be exceeded.
        let moved = made.scope != scope;
        if let Some(former) = made.current.take_if(|keeper| moved || keeper.is_dead()) {
            if !former.is_dead() {
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
        let profile = self.confinement.profile(scope, tmp).await.map_err(weak)?;
        let keeper = Arc::new(self.confinement.keeper(profile).await?);
        scope.clone_into(&mut made.scope);
        Ok(made.current.insert(keeper).clone())
    }

    /// What holds on this machine, as far as it is known by now.
    pub fn level(&self) -> Level {
        self.confinement.found_so_far().map_or(Level::None, |found| found.level)
    }

    /// The session's temporary directory as the host sees it.
    pub fn tmp(&self) -> Option<&Path> {
        self.tmp.as_deref().ok()
    }

    /// Something that the agent should know with its next result.
    pub fn note(&self, note: String) {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(note);
    }

    /// What the sandbox did by itself since the last result, and why.
    pub fn take_notes(&self) -> Vec<String> {
        let mut notes = std::mem::take(&mut *self.notes.lock().unwrap_or_else(PoisonError::into_inner));
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
