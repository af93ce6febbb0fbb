//! `testudo explain`: the verdict on a command line, and how it came about; nothing is run.

use std::process::ExitCode;
use std::sync::Arc;

use crate::policy::{Judgement, Subject};
use crate::server::Server;

/// Exits with 0 for what would run, 1 for what would be asked about, 2 for what is denied, so that scripts can test a
/// policy.
#[expect(clippy::print_stdout, reason = "the explanation is what was asked for")]
pub fn run(server: &Arc<Server>, text: &str, json: bool) -> anyhow::Result<ExitCode> {
    let workplace = server.workplace(&[]);
    let subject = Subject::ShellText { text, cwd: &workplace.project_dir, search_path: None };
    let judgement = server.gate().judge(&subject, &server.surroundings(&workplace));
    if json {
        println!("{}", serde_json::to_string_pretty(&judgement)?);
    } else {
        print!("{}", explanation(&judgement, &server.gate().policy().lines()));
    }
    Ok(ExitCode::from(judgement.verdict as u8))
}

fn explanation(judgement: &Judgement, rules: &[String]) -> String {
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
    text.push_str("\nrules\n");
    for rule in rules {
        text.push_str(&format!("  {rule}\n"));
    }
    text
}
