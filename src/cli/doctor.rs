//! `testudo doctor`: what this machine can enforce and what is configured, with a fix for each shortcoming.

use super::output::print;
use super::{approvals, audit};
use crate::config::Config;
use crate::control::Control;
use crate::exec::Shell;
use crate::sandbox::Mode;
use crate::server::Server;
use crate::server::{Enforcement, sandbox_in_words};

pub async fn run(config: Config) -> anyhow::Result<()> {
    // Printed before the server is made, which may fail: it helps to find the reason.
    print(&configuration(&config))?;
    let server = super::server(config)?;
    let found = server.self_test().await;
    print(&enforcement(&server, &found))?;
    server.shut_down().await;
    Ok(())
}

fn configuration(config: &Config) -> String {
    let file =
        config.file.as_ref().map_or_else(|| "none, defaults apply".to_owned(), |path| path.display().to_string());
    let mut text = format!("testudo {}\n", env!("CARGO_PKG_VERSION"));
    text.push_str(&row("configuration", &file));
    text.push_str(&row("project dir", &config.directories.project_dir().display().to_string()));
    if config.directories.has_no_project() {
        text.push_str(&row(
            "",
            "started in / or in the home directory, so file tools have no project; use --project-dir",
        ));
    }
    text.push_str(&row("stored output", &config.cache_dir.display().to_string()));
    text.push_str(&row("control socket", &control(config)));
    text.push_str(&row("audit log", &audit::row(config)));
    text.push_str(&row("shell", &shell(&Shell::find())));
    text.extend(config.warnings.iter().map(|warning| row("warning", warning)));
    text
}

fn enforcement(server: &Server, found: &Enforcement) -> String {
    let config = server.config();
    let mut text = row("sandbox", &sandbox_in_words(&config.sandbox, Some(found)));
    text.push_str(&row("landlock", &landlock()));
    for finding in &found.findings {
        text.push_str(&format!("  {}  {}\n", if finding.held { "held  " } else { "BROKEN" }, finding.promise));
    }
    text.extend(advice(config.sandbox.mode, found).iter().map(|line| format!("{line}\n")));
    for (index, line) in approvals::lines(&approvals::given(config)).iter().enumerate() {
        text.push_str(&row(if index == 0 { "approvals" } else { "" }, line));
    }
    text
}

fn control(config: &Config) -> String {
    match Control::try_out(&config.control_dirs) {
        Ok(directory) => format!("in {}", directory.display()),
        Err(reasons) => format!(
            "none: {reasons}; testudo ps, watch and approve will not find servers; make one of these directories writable"
        ),
    }
}

fn row(title: &str, value: &str) -> String {
    format!("{title:<15} {value}\n")
}

fn landlock() -> String {
    if let Some((shortcoming, fix)) = crate::sandbox::landlock_shortcoming() {
        return format!("{shortcoming}: {fix}");
    }
    match crate::sandbox::landlock_version() {
        version @ ..6 => format!("ABI {version}: signals and abstract sockets are not covered before 6 (Linux 6.12)"),
        version => format!("ABI {version}"),
    }
}

/// Why the level is not higher, and what to do about it.
fn advice(mode: Mode, found: &Enforcement) -> Vec<String> {
    if mode == Mode::Off {
        return Vec::new();
    }
    let reasons = found.shortfalls.iter().map(|reason| format!("  because {reason}"));
    reasons.chain(found.fixes().into_iter().map(|fix| format!("  fix     {fix}"))).collect()
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
