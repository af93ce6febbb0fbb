use std::path::{Path, PathBuf};

use super::DenyGlobs;

/// A path under both its names: the one agents use, and the one the kernel has. They differ for a session's temporary
/// directory, which agents know as `/tmp`, and for a root that is reached over a link.
#[derive(Clone, Debug)]
pub struct DualPath {
    pub agent: PathBuf,
    pub real: PathBuf,
}

impl DualPath {
    /// Both names of something below this path; an empty `below` is the path itself.
    #[must_use]
    pub fn join(&self, below: &Path) -> Self {
        if below.as_os_str().is_empty() {
            return self.clone();
        }
        Self { agent: self.agent.join(below), real: self.real.join(below) }
    }

    /// Whether a deny glob matches either name of something below this path: the operator may have had either in mind.
    /// Only the last name is checked. The caller must have checked the directories above it, as a walk does.
    pub fn is_denied_below(&self, deny: &DenyGlobs, below: &Path) -> bool {
        deny.have_names()
            && (deny.denies_name(&self.agent.join(below))
                || self.real != self.agent && deny.denies_name(&self.real.join(below)))
    }
}
