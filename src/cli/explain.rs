//! `testudo explain`: the verdict on a command line and the reasons for it, the commands of `@safe`,
//! or the hosts of a group such as `@npm`. Nothing is run.

use std::process::ExitCode;
use std::sync::Arc;

use serde::Serialize;

use super::approvals;
use super::output::{print, print_error};
use crate::gate::ledger::Approval;
use crate::network::groups;
use crate::policy::{Judgement, Subject, Verdict, safe};
use crate::server::Server;

/// Exits with 0 if the command would run, 1 if the person would be asked, 2 if it is denied, so that scripts can test a
/// policy.
pub fn run(server: &Arc<Server>, text: &str, json: bool) -> anyhow::Result<ExitCode> {
    if text.trim() == safe::NAME {
        print(&safe::lines().join("\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(group) = groups::find(text.trim()) {
        print(&groups::lines(group).join("\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let cwd = &server.config().directories.project_dir();
    let surroundings = server.setup().basis.surroundings(&server.workplace(&[]), server.gate().policy());
    let subject = Subject::ShellText { text, cwd, search_path: None };
    let mut judgement = server.gate().judge(&subject, &surroundings);
    if !server.gate().policy().has_sources() {
        match server.gate().parsed(text, &subject, &surroundings) {
            Ok(commands) => judgement.commands = commands,
            Err(opaque) => {
                print_error(&format!("testudo: bash could not run this text: {opaque}"));
                return Ok(ExitCode::from(Verdict::Deny as u8));
            }
        }
    }
    let approvals = approvals::given(&server.config());
    if json {
        print(&serde_json::to_string_pretty(&Explained { judgement: &judgement, approvals: &approvals })?)?;
    } else {
        let given = if approvals.is_empty() { Vec::new() } else { approvals::lines(&approvals) };
        print(&explanation(&judgement, &server.gate().policy().lines(), &given))?;
    }
    Ok(ExitCode::from(judgement.verdict as u8))
}

/// The JSON form, for scripts.
#[derive(Serialize)]
struct Explained<'a> {
    #[serde(flatten)]
    judgement: &'a Judgement,
    /// Approvals in running servers.
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
    if !judgement.grants.is_empty() {
        let grants: Vec<String> = judgement.grants.iter().map(ToString::to_string).collect();
        text.push_str(&format!("grants    {}\n", grants.join(", ")));
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
