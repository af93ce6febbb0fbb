//! Logs go to stderr, because stdout is the protocol.

use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use super::stderr::Stderr;
use crate::config::{Config, LogFormat, LogLevel, LogSettings};

pub fn start(config: &Config) {
    start_with(config.log, config);
}

/// For a subcommand whose result a person reads: it leaves out informational lines.
pub fn start_quiet(config: &Config) {
    let level = if config.log.level == LogLevel::Info { LogLevel::Warn } else { config.log.level };
    start_with(LogSettings { level, ..config.log }, config);
}

fn start_with(log: LogSettings, config: &Config) {
    let level = match log.level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    // The SDK logs every message at "info", which only helps in debugging.
    let sdk = if level <= LevelFilter::INFO { LevelFilter::WARN.min(level) } else { level };
    let targets = Targets::new().with_default(level).with_target("rmcp", sdk);
    let lines = tracing_subscriber::fmt::layer().with_writer(|| Stderr).with_ansi(false);
    // Fails if this process has a subscriber already. That only happens in tests.
    let _ = match log.format {
        LogFormat::Text => tracing_subscriber::registry().with(lines.with_filter(targets)).try_init(),
        LogFormat::Json => tracing_subscriber::registry().with(lines.json().with_filter(targets)).try_init(),
    };
    config.warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
}
