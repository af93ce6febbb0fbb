//! Who may come in: tokens, each with the name of its owner.

use std::path::Path;

use anyhow::{Context, bail, ensure};
use sha2::{Digest, Sha256};

/// Hashes are compared instead of tokens: how long it takes says nothing about the token.
pub struct Owners(Vec<(String, [u8; 32])>);

impl Owners {
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| {
            format!(
                "failed to read the tokens of clients (token_file, one `OWNER TOKEN` per line) in {}",
                path.display()
            )
        })?;
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let owners = lines
            .map(|line| {
                let (name, token) = line.split_once(char::is_whitespace).context("a line has to be OWNER TOKEN")?;
                Ok((name.to_owned(), hash(token.trim())))
            })
            .collect::<anyhow::Result<Vec<_>>>()
            .with_context(|| format!("in {}", path.display()))?;
        ensure!(!owners.is_empty(), "{} has no token; write one line `OWNER TOKEN` for each client", path.display());
        for (at, (name, token)) in owners.iter().enumerate() {
            let same = owners[..at].iter().find(|(_, other)| other == token);
            if let Some((other, _)) = same {
                bail!("{} gives {other} and {name} the same token, so nobody can tell them apart", path.display());
            }
        }
        Ok(Self(owners))
    }

    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(owner, _)| owner == name)
    }

    pub fn of(&self, authorization: Option<&str>) -> Option<&str> {
        let token = hash(authorization?.strip_prefix("Bearer ")?.trim());
        let mut found = None;
        for (name, known) in &self.0 {
            if *known == token {
                found = Some(name.as_str());
            }
        }
        found
    }
}

fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}
