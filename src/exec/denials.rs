//! What the sandbox has to say about one command.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::keeper_news::Claim;
use super::{KeeperLink, Process, Streams};
use crate::sandbox::{Profile, explain};

/// What is needed to explain what the sandbox did to one command: the restrictions it ran under, where it started, and
/// what its keeper told about it.
#[derive(Clone, Debug)]
pub struct Denials {
    profile: Arc<Profile>,
    cwd: PathBuf,
    told: Arc<Claim>,
}

impl Denials {
    pub fn new(keeper: &KeeperLink, process: &Process, cwd: &Path) -> Self {
        let told = Arc::new(keeper.news().claim(process.reaper));
        Self { profile: keeper.profile().clone(), cwd: cwd.to_owned(), told }
    }

    /// Explains what the sandbox refused, as far as the command's own output shows it, and which of its processes the
    /// keeper has killed since the last call of this.
    pub fn explain(&self, streams: &Streams) -> Vec<String> {
        let refused = match streams {
            Streams::Pipes { stdout, stderr } => {
                self.in_text(&stderr.get().view.head()).or_else(|| self.in_text(&stdout.get().view.head()))
            }
            Streams::Terminal { terminal, .. } => self.in_text(&terminal.screen()),
        };
        refused.into_iter().chain(self.told.take()).collect()
    }

    /// Whether its keeper has told anything about it. The same is told only once for one reaper.
    pub fn has_told(&self) -> bool {
        self.told.has_told()
    }

    fn in_text(&self, text: &str) -> Option<String> {
        explain::explain(&self.profile, &self.cwd, text)
    }
}
