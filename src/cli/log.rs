//! Logs go to stderr; stdout is the protocol.

use tracing_subscriber::filter::LevelFilter;

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
    let builder = tracing_subscriber::fmt().with_writer(std::io::stderr).with_max_level(level).with_ansi(false);
    // A second start in one process keeps the first; that only happens in tests.
    let _ = match log.format {
        LogFormat::Text => builder.try_init(),
        LogFormat::Json => builder.json().try_init(),
    };
}
