//! `testudo doctor`: what this machine can enforce and what is configured, each shortcoming with its fix.

use super::approvals;
use crate::config::Config;
use crate::exec::Shell;
use crate::sandbox::{Level, Mode, obstacles};
use crate::server::Server;
use crate::server::{Enforcement, sandbox_in_words};
use crate::tools::TOOLS;

#[expect(clippy::print_stdout, reason = "it is for the person at the terminal")]
pub async fn print(config: Config) -> anyhow::Result<()> {
    let file =
        config.file.as_ref().map_or_else(|| "none, defaults apply".to_owned(), |path| path.display().to_string());
    println!("testudo {}", env!("CARGO_PKG_VERSION"));
    println!("configuration   {file}");
    println!("project dir     {}", config.directories.project_dir().display());
    if config.directories.says_nothing() {
        println!(
            "                started in / or at home with nothing said: file tools have no project; use --project-dir"
        );
    }
    println!("stored output   {}", config.cache_dir.display());
    println!("shell           {}", shell(&Shell::find()));
    for warning in &config.warnings {
        println!("warning         {warning}");
    }
    let server = Server::new(config, TOOLS)?;
    let found = server.self_test().await.clone();
    println!("sandbox         {}", sandbox_in_words(&server.config().sandbox, Some(&found)));
    println!("landlock        {}", landlock());
    for finding in &found.findings {
        println!("  {}  {}", if finding.held { "held  " } else { "BROKEN" }, finding.promise);
    }
    for line in advice(server.config().sandbox.mode, &found) {
        println!("{line}");
    }
    let approvals = approvals::given(&server.config().cache_dir);
    for (index, line) in approvals::lines(&approvals).iter().enumerate() {
        println!("{:<15} {line}", if index == 0 { "approvals" } else { "" });
    }
    server.shut_down().await;
    Ok(())
}

fn landlock() -> String {
    match crate::sandbox::landlock_version() {
        0 => "not in this kernel: boot with lsm=...,landlock, or use Linux 6.2 or newer".to_owned(),
        version @ 1..3 => format!("ABI {version}, 3 is needed: use Linux 6.2 or newer"),
        version @ 3..6 => format!("ABI {version}: signals and abstract sockets are not covered before 6 (Linux 6.12)"),
        version => format!("ABI {version}"),
    }
}

/// Each shortcoming with its fix.
fn advice(mode: Mode, found: &Enforcement) -> Vec<String> {
    if mode == Mode::Off || found.level == Level::Full {
        return Vec::new();
    }
    let reasons = found.shortfalls.iter().map(|reason| format!("  because {reason}"));
    reasons.chain(obstacles::fixes().into_iter().map(|fix| format!("  fix     {fix}"))).collect()
}

fn shell(shell: &Shell) -> String {
    match shell {
        Shell::Bash(path) => path.display().to_string(),
        Shell::Posix(path) => format!(
            "{} (no /bin/bash here: arrays, [[ ]] and process substitution will not work; install bash)",
            path.display()
        ),
    }
}
