//! `testudo explain`: the verdict on a command line, and how it came about; nothing is run.

use std::process::ExitCode;
use std::sync::Arc;

use serde::Serialize;

use super::approvals;
use crate::gate::ledger::Approval;
use crate::policy::{Judgement, Subject};
use crate::server::Server;

/// Exits with 0 for what would run, 1 for what would be asked about, 2 for what is denied, so that scripts can test a
/// policy.
#[expect(clippy::print_stdout, reason = "the explanation is what was asked for")]
pub fn run(server: &Arc<Server>, text: &str, json: bool) -> anyhow::Result<ExitCode> {
    let cwd = server.config().directories.project_dir();
    let surroundings = server.surroundings(&server.workplace(&[]));
    let judgement = server.gate().judge(&Subject::ShellText { text, cwd, search_path: None }, &surroundings);
    let approvals = approvals::given(&server.config().cache_dir);
    if json {
        println!("{}", serde_json::to_string_pretty(&Explained { judgement: &judgement, approvals: &approvals })?);
    } else {
        let given = if approvals.is_empty() { Vec::new() } else { approvals::lines(&approvals) };
        print!("{}", explanation(&judgement, &server.gate().policy().lines(), &given));
    }
    Ok(ExitCode::from(judgement.verdict as u8))
}

/// For scripts.
#[derive(Serialize)]
struct Explained<'a> {
    #[serde(flatten)]
    judgement: &'a Judgement,
    /// What people have allowed in sessions that live.
    approvals: &'a [Approval],
}

fn explanation(judgement: &Judgement, rules: &[String], approvals: &[String]) -> String {
    let mut text = format!("verdict   {}\nreason    {}\n", judgement.verdict, judgement.reason);
    if let Some(rule) = &judgement.rule {
        text.push_str(&format!("rule      {rule}\n"));
    }
    if let Some(change) = &judgement.change {
        text.push_str(&format!("change    {change}\n"));
    }
    if let Some(canonical) = &judgement.canonical {
        text.push_str(&format!("runs as   {canonical}\n"));
    }
    if !judgement.commands.is_empty() {
        text.push_str("\nfound\n");
        for finding in &judgement.commands {
            text.push_str(&format!("  {:<5} {}    {}\n", finding.verdict.to_string(), finding.what, finding.reason));
        }
    }
    for (title, lines) in
        [("rules", rules), ("approvals", approvals)].into_iter().filter(|(_, lines)| !lines.is_empty())
    {
        text.push_str(&format!("\n{title}\n"));
        for line in lines {
            text.push_str(&format!("  {line}\n"));
        }
    }
    text
}
