//! What people have allowed in servers that run now, and `testudo revoke`, which takes it back.

use std::path::Path;
use std::process::ExitCode;

use crate::exec::ServerDirectory;
use crate::gate::ledger::{self, Approval};

/// Stands for all of them.
const ALL: &str = "all";

pub fn given(cache_dir: &Path) -> Vec<Approval> {
    ledger::read(&ServerDirectory::all_approvals(cache_dir))
}

/// As `doctor` and `explain` show them.
pub fn lines(approvals: &[Approval]) -> Vec<String> {
    if approvals.is_empty() {
        return vec!["none in servers that run now".to_owned()];
    }
    let how = "take one back with: testudo revoke ID, or all of them with: testudo revoke all".to_owned();
    approvals.iter().map(ToString::to_string).chain([how]).collect()
}

/// Exits with 1, and takes nothing back, when one of the ids is unknown.
#[expect(clippy::print_stdout, clippy::print_stderr, reason = "it is for the person at the terminal")]
pub fn revoke(cache_dir: &Path, ids: &[String]) -> anyhow::Result<ExitCode> {
    let known = given(cache_dir);
    let unknown = ids.iter().find(|id| *id != ALL && !known.iter().any(|approval| approval.id == **id));
    if let Some(unknown) = unknown {
        eprintln!("testudo: no approval has the id {unknown:?}; given are:");
        lines(&known).iter().for_each(|line| eprintln!("  {line}"));
        return Ok(ExitCode::FAILURE);
    }
    let chosen = |approval: &Approval| ids.iter().any(|id| id == ALL || *id == approval.id);
    let revoked = ledger::revoke(&ServerDirectory::all_approvals(cache_dir), chosen)?;
    revoked.iter().for_each(|approval| println!("revoked {approval}"));
    if revoked.is_empty() {
        println!("there was nothing to revoke");
    }
    Ok(ExitCode::SUCCESS)
}
