//! Logs go to stderr; stdout is the protocol.

use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::{Config, Log, LogFormat, LogLevel};

pub fn start(config: &Config) {
    begin(config.log);
    config.warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
}

/// For a person at a prompt, who wants the result and not the story: informational lines are left out.
pub fn start_quiet(config: &Config) {
    let mut quiet = config.clone();
    if quiet.log.level == LogLevel::Info {
        quiet.log.level = LogLevel::Warn;
    }
    start(&quiet);
}

fn begin(log: Log) {
    let level = match log.level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    // The SDK tells every message at "info"; that is a debugging aid, not news.
    let sdk = if level <= LevelFilter::INFO { LevelFilter::WARN.min(level) } else { level };
    let targets = Targets::new().with_default(level).with_target("rmcp", sdk);
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false);
    // A second start in one process keeps the first; that only happens in tests.
    let _ = match log.format {
        LogFormat::Text => tracing_subscriber::registry().with(lines.with_filter(targets)).try_init(),
        LogFormat::Json => tracing_subscriber::registry().with(lines.json().with_filter(targets)).try_init(),
    };
}
