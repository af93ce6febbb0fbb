//! Who may come in: tokens, each with the name of its owner.

use std::path::Path;

use anyhow::{Context, ensure};
use sha2::{Digest, Sha256};

/// Hashes are compared instead of tokens: how long it takes says nothing about the token.
pub struct Owners(Vec<(String, [u8; 32])>);

impl Owners {
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| format!("failed to read {}", path.display()))?;
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let owners = lines
            .map(|line| {
                let (name, token) = line.split_once(char::is_whitespace).context("a line has to be OWNER TOKEN")?;
                Ok((name.to_owned(), hash(token.trim())))
            })
            .collect::<anyhow::Result<Vec<_>>>()
            .with_context(|| format!("in {}", path.display()))?;
        ensure!(!owners.is_empty(), "{} has no token", path.display());
        Ok(Self(owners))
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
