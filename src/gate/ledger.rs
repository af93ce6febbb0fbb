//! Where approvals can be seen and taken back from outside the server that holds them: a file for each, in a directory
//! that goes with the server. A file by itself grants nothing; one that is gone takes its approval along.

use crate::base::invisible::made_visible;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// One thing that a person has allowed for the rest of a session.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Approval {
    pub id: String,
    /// Whose it is, in words: the client and the name of its session.
    pub session: String,
    /// The server that holds it.
    pub pid: u32,
    #[serde(flatten)]
    pub what: What,
}

#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum What {
    /// This exact text in this directory.
    Command { text: String, cwd: Option<PathBuf> },
    /// Whatever this program is told to do.
    Program(String),
}

/// The directory of one server's approvals; made with the first of them.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    directory: Option<PathBuf>,
}

impl Ledger {
    /// Without a directory approvals hold until their session ends, and nobody else can see them.
    pub fn new(directory: Option<PathBuf>) -> Self {
        Self { directory }
    }

    pub fn enter(&self, approval: &Approval) -> io::Result<()> {
        let Some(directory) = &self.directory else { return Ok(()) };
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        let path = directory.join(&approval.id);
        let mut file = std::fs::File::options().write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(&serde_json::to_vec(approval)?)
    }

    pub fn stands(&self, approval: &Approval) -> bool {
        self.directory.as_ref().is_none_or(|directory| directory.join(&approval.id).exists())
    }

    pub fn strike(&self, approval: &Approval) {
        if let Some(directory) = &self.directory {
            let _ = std::fs::remove_file(directory.join(&approval.id));
        }
    }
}

/// Everything that is approved in these ledgers, in the order of ids.
pub fn read(ledgers: &[PathBuf]) -> Vec<Approval> {
    let mut found: Vec<Approval> = files(ledgers).filter_map(|path| read_one(&path)).collect();
    found.sort_by(|one, other| one.id.cmp(&other.id));
    found
}

/// Takes approvals back. They are not asked about again until somebody wants to do the same.
pub fn revoke(ledgers: &[PathBuf], chosen: impl Fn(&Approval) -> bool) -> io::Result<Vec<Approval>> {
    let mut revoked = Vec::new();
    for path in files(ledgers) {
        if let Some(approval) = read_one(&path).filter(&chosen) {
            std::fs::remove_file(&path)?;
            revoked.push(approval);
        }
    }
    Ok(revoked)
}

fn files(ledgers: &[PathBuf]) -> impl Iterator<Item = PathBuf> {
    ledgers.iter().filter_map(|ledger| std::fs::read_dir(ledger).ok()).flatten().flatten().map(|entry| entry.path())
}

fn read_one(path: &Path) -> Option<Approval> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

impl std::fmt::Display for Approval {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { id, session, pid, what } = self;
        match what {
            What::Command { text, cwd: Some(cwd) } => {
                write!(f, "{id}  command `{}` in {}", made_visible(text), cwd.display())
            }
            What::Command { text, cwd: None } => write!(f, "{id}  {}", made_visible(text)),
            What::Program(name) => write!(f, "{id}  program {}", made_visible(name)),
        }?;
        write!(f, "    ({session}, server {pid})")
    }
}
