//! Approvals that people have given in running servers or for good, and `testudo revoke`, which takes them back.

use std::path::PathBuf;
use std::process::ExitCode;

use super::output::{print, print_error};
use crate::config::Config;
use crate::exec::ServerDirectory;
use crate::gate::ledger::{self, Approval};

/// Written instead of an id, it means every approval.
const ALL: &str = "all";

pub fn given(config: &Config) -> Vec<Approval> {
    ledger::read(&ledgers(config))
}

/// Those of running servers, and the one of approvals that are for good.
fn ledgers(config: &Config) -> Vec<PathBuf> {
    let mut ledgers = ServerDirectory::all_approvals(&config.cache_dir);
    ledgers.push(config.state_dir.join(ledger::KEPT));
    ledgers
}

/// The lines that `doctor` and `explain` show.
pub fn lines(approvals: &[Approval]) -> Vec<String> {
    if approvals.is_empty() {
        return vec!["none".to_owned()];
    }
    let how = "take one back with: testudo revoke ID, or all of them with: testudo revoke all".to_owned();
    approvals.iter().map(ToString::to_string).chain([how]).collect()
}

/// If one of the ids is unknown, exits with 1 and revokes nothing.
pub fn revoke(config: &Config, ids: &[String], json: bool) -> anyhow::Result<ExitCode> {
    let known = given(config);
    let unknown = ids.iter().find(|id| *id != ALL && !known.iter().any(|approval| approval.id == **id));
    if let Some(unknown) = unknown {
        print_error(&format!("testudo: no approval has the id {unknown:?}; the approvals are:"));
        lines(&known).iter().for_each(|line| print_error(&format!("  {line}")));
        return Ok(ExitCode::FAILURE);
    }
    let chosen = |approval: &Approval| ids.iter().any(|id| id == ALL || *id == approval.id);
    let revoked = ledger::revoke(&ledgers(config), chosen)?;
    if json {
        print(&serde_json::to_string_pretty(&revoked)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let lines: Vec<String> = revoked.iter().map(|approval| format!("revoked {approval}")).collect();
    let text = lines.join("\n");
    print(if text.is_empty() { "there was nothing to revoke" } else { &text })?;
    Ok(ExitCode::SUCCESS)
}
