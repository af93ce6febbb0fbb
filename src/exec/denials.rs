//! What the sandbox has to say about one command.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Streams;
use crate::sandbox::{Profile, explain};

/// What is needed to explain the denials that one command met: the restrictions it ran under and where it started.
#[derive(Clone, Debug)]
pub struct Denials {
    profile: Arc<Profile>,
    cwd: PathBuf,
}

impl Denials {
    pub fn new(profile: Arc<Profile>, cwd: &Path) -> Self {
        Self { profile, cwd: cwd.to_owned() }
    }

    /// Explains what the sandbox refused, as far as the command's own output shows it.
    pub fn in_streams(&self, streams: &Streams) -> Option<String> {
        match streams {
            Streams::Pipes { stdout, stderr } => {
                self.in_text(stderr.get().view.head()).or_else(|| self.in_text(stdout.get().view.head()))
            }
            Streams::Terminal { terminal, .. } => self.in_text(&terminal.screen()),
        }
    }

    fn in_text(&self, text: &str) -> Option<String> {
        explain::explain(&self.profile, &self.cwd, text)
    }
}
