//! Shows approvals to other processes of the user, which can revoke them. Each approval is a file in a directory that the
//! server removes when it ends.
//!
//! There, a file grants nothing: the approvals that count are in the server's memory. An approval ends when its file is
//! removed.
//!
//! Approvals that are for good are files in the state directory, which no command and no file tool can reach. These files
//! do grant what they say, so only files that belong to the user alone are read.

use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::base::invisible::made_visible;
use crate::base::private_directory;

/// Below the state directory.
pub const KEPT: &str = "approvals";

/// What a person has allowed for the rest of a session.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Approval {
    pub id: String,
    /// The client and the name of its session, as a phrase for people.
    pub session: String,
    /// The process id of the server that holds it.
    pub pid: u32,
    #[serde(flatten)]
    pub covers: Covers,
}

/// What an approval is for.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Covers {
    /// This exact text in this directory.
    Command { text: String, cwd: Option<PathBuf> },
    /// Every command that runs this program.
    Program(String),
    /// This exact text in this directory of this project, until it is revoked.
    Always { text: String, cwd: Option<PathBuf>, project: PathBuf },
}

/// The directory of one server's approvals. It is created with the first approval.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    directory: Option<PathBuf>,
}

impl Ledger {
    /// Without a directory, other processes cannot see approvals, and approvals last until their session ends.
    pub fn new(directory: Option<PathBuf>) -> Self {
        Self { directory }
    }

    /// The approvals that are for good, below the state directory. Makes the directory, private to the user.
    pub fn below(state_dir: &Path) -> io::Result<Self> {
        let directory = state_dir.join(KEPT);
        private_directory::make(&directory)?;
        Ok(Self::new(Some(directory)))
    }

    /// Writes an approval down.
    pub fn enter(&self, approval: &Approval) -> io::Result<()> {
        let Some(directory) = &self.directory else { return Ok(()) };
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        let path = directory.join(&approval.id);
        let mut file = std::fs::File::options().write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(&serde_json::to_vec(approval)?)
    }

    /// Whether the directory has an approval for this that only the user can have written.
    pub fn grants(&self, covers: &Covers) -> bool {
        let kept = self.directory.iter().filter(|directory| is_private(directory)).cloned().collect::<Vec<_>>();
        files(&kept).filter_map(|path| read_private(&path)).any(|approval| approval.covers == *covers)
    }

    /// Whether nobody has revoked the approval.
    pub fn stands(&self, approval: &Approval) -> bool {
        self.directory.as_ref().is_none_or(|directory| directory.join(&approval.id).exists())
    }

    /// Removes an approval that has ended.
    pub fn strike(&self, approval: &Approval) {
        if let Some(directory) = &self.directory {
            let _ = std::fs::remove_file(directory.join(&approval.id));
        }
    }
}

/// All approvals in these ledgers, sorted by id.
pub fn read(ledgers: &[PathBuf]) -> Vec<Approval> {
    let mut found: Vec<Approval> = files(ledgers).filter_map(|path| read_one(&path)).collect();
    found.sort_by(|one, other| one.id.cmp(&other.id));
    found
}

/// Revokes the chosen approvals. The person is asked again when an agent wants to do the same thing.
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

/// As [`read_one`], if the file belongs to the user alone.
fn read_private(path: &Path) -> Option<Approval> {
    let link = std::fs::symlink_metadata(path).ok()?;
    let mut file = std::fs::File::open(path).ok().filter(|_| link.is_file())?;
    let opened = file.metadata().ok()?;
    let same = (opened.dev(), opened.ino()) == (link.dev(), link.ino());
    if !same || !is_ours_alone(&opened) {
        return None;
    }
    let mut text = Vec::new();
    file.read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

fn is_private(directory: &Path) -> bool {
    std::fs::symlink_metadata(directory).is_ok_and(|found| found.is_dir() && is_ours_alone(&found))
}

/// Whether it belongs to the user, and no other user has any right to it.
fn is_ours_alone(found: &std::fs::Metadata) -> bool {
    let rights_of_others = found.mode() % 0o100;
    rights_of_others == 0 && found.uid() == rustix::process::geteuid().as_raw()
}

impl std::fmt::Display for Approval {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { id, session, pid, covers } = self;
        match covers {
            Covers::Command { text, cwd: Some(cwd) } => {
                write!(f, "{id}  command `{}` in {}", made_visible(text), cwd.display())
            }
            Covers::Command { text, cwd: None } => write!(f, "{id}  {}", made_visible(text)),
            Covers::Program(name) => write!(f, "{id}  program {}", made_visible(name)),
            Covers::Always { text, cwd, project } => {
                let cwd = cwd.as_ref().unwrap_or(project);
                return write!(
                    f,
                    "{id}  always `{}` in {}    (until it is revoked)",
                    made_visible(text),
                    cwd.display()
                );
            }
        }?;
        write!(f, "    ({session}, server {pid})")
    }
}
