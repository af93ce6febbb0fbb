use std::collections::HashSet;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::base::identity::Identity;

/// Credentials and the like, which file tools do not touch: by path, and by identity, so that a secret that was moved, or
/// is reached through a hard link or a second mount, is recognised.
#[derive(Clone, Debug, Default)]
pub struct Secrets {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// Files and whole directories: a tool that may read a file may also write it, and nobody should write into `~/.ssh`.
    hidden: Vec<PathBuf>,
    identities: HashSet<Identity>,
    /// The inode numbers of the identities: a walk knows these without asking the kernel.
    inodes: HashSet<u64>,
}

impl Secrets {
    pub fn new(hidden: Vec<PathBuf>, identities: HashSet<Identity>) -> Self {
        let inodes = identities.iter().map(|identity| identity.inode()).collect();
        Self { inner: Arc::new(Inner { hidden, identities, inodes }) }
    }

    pub fn is_empty(&self) -> bool {
        self.inner.hidden.is_empty() && self.inner.identities.is_empty()
    }

    /// The same without the paths that nothing in these directories can lie in.
    #[must_use]
    pub fn near(&self, directories: &[&Path]) -> Self {
        let near = |hidden: &&PathBuf| directories.iter().any(|at| hidden.starts_with(at) || at.starts_with(hidden));
        let hidden = self.inner.hidden.iter().filter(near).cloned().collect();
        let (identities, inodes) = (self.inner.identities.clone(), self.inner.inodes.clone());
        Self { inner: Arc::new(Inner { hidden, identities, inodes }) }
    }

    /// Whether any is known by its path.
    pub fn have_paths(&self) -> bool {
        !self.inner.hidden.is_empty()
    }

    /// The secret that a path is or lies in. A root that is or lies in a secret directory was configured by the operator,
    /// who may allow it.
    pub fn hiding(&self, root: &Path, path: &Path) -> Option<&Path> {
        let hides = |hidden: &&PathBuf| hidden.starts_with(root) && *hidden != root && path.starts_with(hidden);
        self.inner.hidden.iter().find(hides).map(PathBuf::as_path)
    }

    /// Whether a path below a root, or a directory between the two, is a secret by another name.
    pub fn is_one_by_identity(&self, root: impl AsFd, below: &Path) -> bool {
        let parts = below.ancestors().filter(|part| *part != Path::new(""));
        let secret = |part: &Path| {
            Identity::beneath(&root, part).is_some_and(|identity| self.inner.identities.contains(&identity))
        };
        !self.inner.identities.is_empty() && parts.into_iter().any(secret)
    }

    /// The same for a name that a walk has found. Most names are decided by their inode number alone.
    pub fn is_found(&self, inode: Option<u64>, path: &Path) -> bool {
        inode.is_none_or(|inode| self.inner.inodes.contains(&inode))
            && Identity::of(path).is_some_and(|identity| self.inner.identities.contains(&identity))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_known_by_path_and_by_identity() {
        let world = tempfile::tempdir().unwrap();
        let home = world.path().canonicalize().unwrap();
        std::fs::create_dir_all(home.join(".config/gh")).unwrap();
        std::fs::write(home.join(".config/gh/hosts.yml"), "").unwrap();
        std::fs::write(home.join(".netrc"), "").unwrap();
        let identities = [".config/gh", ".netrc"].map(|name| Identity::of(&home.join(name)).unwrap());
        let hidden = vec![home.join(".netrc"), home.join(".ssh")];
        let secrets = Secrets::new(hidden, identities.into());
        let by_path = |name: &str| secrets.hiding(&home, &home.join(name)).is_some();
        assert!(by_path(".netrc") && by_path(".ssh/id") && !by_path("x"));
        assert!(secrets.hiding(&home.join(".ssh"), &home.join(".ssh/id")).is_none(), "the operator's own root");
        std::fs::rename(home.join(".config"), home.join(".c2")).unwrap();
        std::fs::hard_link(home.join(".netrc"), home.join("n")).unwrap();
        let root = std::fs::File::open(&home).unwrap();
        for (name, secret) in [(".c2/gh/hosts.yml", true), (".c2/gh", true), (".c2", false), ("n", true)] {
            assert_eq!(secrets.is_one_by_identity(&root, Path::new(name)), secret, "{name}");
        }
    }
}
