//! `testudo doctor`: what this machine can enforce and what is configured, with a fix for each shortcoming.

use std::path::Path;
use std::process::ExitCode;

use serde_json::json;

use super::advice::advice;
use super::output::print;
use super::{approvals, audit, changes, install};
use crate::base::size;
use crate::config::{Config, ConfigError};
use crate::control::Control;
use crate::exec::{Shell, TreeSize};
use crate::sandbox::home::State;
use crate::sandbox::settings::HomeMode;
use crate::sandbox::{Level, Mode};
use crate::server::Server;
use crate::server::{Enforcement, sandbox_in_words};

/// Exits with 1 if commands would be refused or a promise of the sandbox is broken, for scripts.
pub async fn run(config: Config, as_json: bool) -> anyhow::Result<ExitCode> {
    // Printed before the server is made, which may fail: it helps to find the reason.
    if !as_json {
        print(&configuration(&config))?;
    }
    let server = super::server(config, None)?;
    let found = server.self_test().await;
    let config = server.config();
    let holds = holds(&config, &found);
    if as_json {
        print(&serde_json::to_string_pretty(&report(&config, &found, holds))?)?;
    } else {
        print(&enforcement(&server, &found))?;
    }
    server.shut_down().await;
    Ok(if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// For a configuration that cannot be read. A server that runs goes on with the one it has.
pub fn refused(error: &ConfigError, file: &Path, as_json: bool) -> anyhow::Result<ExitCode> {
    if as_json {
        let version = env!("CARGO_PKG_VERSION");
        let report =
            json!({ "version": version, "ok": false, "configuration": file, "configuration_error": error.to_string() });
        print(&serde_json::to_string_pretty(&report)?)?;
    } else {
        let mut text = format!("testudo {}\n", env!("CARGO_PKG_VERSION"));
        text.push_str(&row("configuration", &file.display().to_string()));
        text.push_str(&row("", &format!("refused: {error}")));
        text.push_str(&row("", "no server starts with it; servers that run keep the configuration that they have"));
        print(&text)?;
    }
    Ok(ExitCode::FAILURE)
}

fn holds(config: &Config, found: &Enforcement) -> bool {
    let reaches = config.sandbox.mode == Mode::Off || found.level >= config.sandbox.minimum;
    reaches && found.findings.iter().all(|finding| finding.held)
}

/// The same as the text, for scripts.
fn report(config: &Config, found: &Enforcement, holds: bool) -> serde_json::Value {
    let promises = found.findings.iter().map(|finding| json!({ "promise": finding.promise, "held": finding.held }));
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "ok": holds,
        "configuration": config.file,
        "project_dir": config.directories.project_dir(),
        "has_project": !config.directories.has_no_project(),
        "stored_output": config.cache_dir,
        "audit_log": audit::row(config),
        "sizes": {
            "stored_output": TreeSize::of(&config.cache_dir).bytes,
            "audit_log": audit::size(config),
            "home": super::home::bytes(config),
        },
        "control_socket": Control::try_out(&config.control_dirs).ok(),
        "draft": changes::row(config),
        "shell": match Shell::find() { Shell::Bash(path) | Shell::Posix(path) => path },
        "warnings": config.warnings,
        "sandbox": {
            "mode": config.sandbox.mode.to_string(),
            "level": found.level.to_string(),
            "minimum": config.sandbox.minimum.to_string(),
            "home": home(config, found),
            "promises": promises.collect::<Vec<_>>(),
            "shortfalls": found.shortfalls,
            "fixes": if config.sandbox.mode == Mode::Off { Vec::new() } else { found.fixes() },
        },
        "clients": install::registrations(),
        "approvals": approvals::given(config),
        "advice": advice(config, found),
    })
}

fn configuration(config: &Config) -> String {
    let file =
        config.file.as_ref().map_or_else(|| "none, defaults apply".to_owned(), |path| path.display().to_string());
    let mut text = format!("testudo {}\n", env!("CARGO_PKG_VERSION"));
    text.push_str(&row("configuration", &file));
    text.push_str(&row("project dir", &config.directories.project_dir().display().to_string()));
    let stored = size::text(TreeSize::of(&config.cache_dir).bytes);
    text.push_str(&row("stored output", &format!("{}, {stored}", config.cache_dir.display())));
    text.push_str(&row("control socket", &control(config)));
    let recorded = size::text(audit::size(config));
    text.push_str(&row("audit log", &format!("{}, {recorded}", audit::row(config))));
    text.push_str(&row("draft", &changes::row(config)));
    text.push_str(&row("shell", &shell(&Shell::find())));
    text.extend(config.warnings.iter().map(|warning| row("warning", warning)));
    text
}

fn enforcement(server: &Server, found: &Enforcement) -> String {
    let config = &server.config();
    let mut text = row("sandbox", &sandbox_in_words(config, Some(found.into())));
    text.push_str(&row("home", &home(config, found)));
    text.push_str(&row("landlock", &landlock()));
    for finding in &found.findings {
        text.push_str(&format!("  {}  {}\n", if finding.held { "held  " } else { "BROKEN" }, finding.promise));
    }
    text.extend(reasons_and_fixes(config.sandbox.mode, found).iter().map(|line| format!("{line}\n")));
    let clients = install::registrations();
    let none = ["none".to_owned()];
    for (index, line) in if clients.is_empty() { none.as_slice() } else { &clients }.iter().enumerate() {
        text.push_str(&row(if index == 0 { "clients" } else { "" }, line));
    }
    for (index, line) in approvals::lines(&approvals::given(config)).iter().enumerate() {
        text.push_str(&row(if index == 0 { "approvals" } else { "" }, line));
    }
    text.extend(advice(config, found).iter().map(|line| row("advice", line)));
    text
}

fn control(config: &Config) -> String {
    match Control::try_out(&config.control_dirs) {
        Ok(directory) => format!("in {}", directory.display()),
        Err(reasons) => format!("none: {reasons}"),
    }
}

fn row(title: &str, value: &str) -> String {
    format!("{title:<15} {value}\n")
}

/// What commands see of the home directory, and why it is not a private one.
fn home(config: &Config, found: &Enforcement) -> String {
    let because = found.home_shortfall.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
    match (config.sandbox.mode, &found.home) {
        (Mode::Off, _) => "the real one: the sandbox is off".to_owned(),
        (_, Some(home)) if home.state == State::Private => {
            format!(
                "private, {}, {}",
                super::home::size_of(config),
                home.layer.as_deref().unwrap_or(&home.path).display()
            )
        }
        (Mode::ReadOnly, _) => "read-only".to_owned(),
        (_, Some(_)) if config.sandbox.home == HomeMode::ReadOnly => {
            "read-only except for tool caches, as sandbox.home says".to_owned()
        }
        (_, Some(_)) => format!("read-only except for tool caches: no layer can be mounted over it here{because}"),
        (_, None) if found.level == Level::Full => {
            "the real one: it is in the scope, or there is none (HOME)".to_owned()
        }
        (_, None) => "read-only except for tool caches: a private one needs level full".to_owned(),
    }
}

fn landlock() -> String {
    if let Some((shortcoming, _)) = crate::sandbox::landlock_shortcoming() {
        return shortcoming;
    }
    match crate::sandbox::landlock_version() {
        version @ ..6 => format!("ABI {version}: signals and abstract sockets are not covered before 6 (Linux 6.12)"),
        version => format!("ABI {version}"),
    }
}

/// Why the level is not higher, and what to do about it.
fn reasons_and_fixes(mode: Mode, found: &Enforcement) -> Vec<String> {
    if mode == Mode::Off {
        return Vec::new();
    }
    let reasons = found.shortfalls.iter().map(|reason| format!("  because {reason}"));
    reasons.chain(found.fixes().into_iter().map(|fix| format!("  fix     {fix}"))).collect()
}

fn shell(shell: &Shell) -> String {
    match shell {
        Shell::Bash(path) => path.display().to_string(),
        Shell::Posix(path) => format!("{} (no /bin/bash here)", path.display()),
    }
}
