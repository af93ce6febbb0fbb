//! The static `testudo` that is put into places.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context, bail};
use sha2::{Digest, Sha256};

use crate::key::hex;

pub struct Program {
    pub path: PathBuf,
    hash: OnceLock<String>,
}

impl Program {
    /// The one that a person named, else the one beside this program, else the one on the search path.
    pub fn find(named: Option<&Path>) -> anyhow::Result<Self> {
        let beside = std::env::current_exe().ok().and_then(|own| own.parent().map(|folder| folder.join("testudo")));
        let on_path = std::env::var_os("PATH")
            .into_iter()
            .flat_map(|path| std::env::split_paths(&path).map(|folder| folder.join("testudo")).collect::<Vec<_>>());
        let mut candidates: Vec<PathBuf> = match named {
            Some(named) => vec![named.to_owned()],
            None => beside.into_iter().chain(on_path).collect(),
        };
        candidates.retain(|path| path.is_file());
        let Some(found) = candidates.first() else {
            match named {
                Some(named) => bail!("there is no program {}", named.display()),
                None => bail!("there is no testudo beside testudo-gateway or on the PATH; name it with --testudo PATH"),
            }
        };
        let path = std::fs::canonicalize(found).with_context(|| format!("failed to find {}", found.display()))?;
        Ok(Self { path, hash: OnceLock::new() })
    }

    /// The SHA-256 of its content.
    pub fn hash(&self) -> anyhow::Result<&str> {
        if let Some(hash) = self.hash.get() {
            return Ok(hash);
        }
        let mut file = std::fs::File::open(&self.path)?;
        let (mut hasher, mut buffer) = (Sha256::new(), vec![0; 1 << 16]);
        loop {
            match file.read(&mut buffer)? {
                0 => break,
                count => hasher.update(&buffer[..count]),
            }
        }
        Ok(self.hash.get_or_init(|| hex(&hasher.finalize())))
    }

    /// Copies it into a directory, where it appears whole or not at all.
    pub fn put(&self, directory: &Path) -> anyhow::Result<()> {
        let (partial, whole) = (directory.join(".testudo.partial"), directory.join("testudo"));
        std::fs::copy(&self.path, &partial)
            .with_context(|| format!("failed to copy testudo to {}", partial.display()))?;
        std::fs::rename(&partial, &whole).with_context(|| format!("failed to make {}", whole.display()))
    }

    /// A program with an interpreter needs its libraries in the place too, and most images lack them.
    pub fn is_static(&self) -> anyhow::Result<bool> {
        let mut start = vec![0; 4096];
        let count = std::fs::File::open(&self.path)?.read(&mut start)?;
        Ok(!start[..count].windows(3).any(|word| word == b"/ld"))
    }
}
