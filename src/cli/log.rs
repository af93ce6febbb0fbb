//! Logs go to stderr; stdout is the protocol.

use tracing_subscriber::filter::LevelFilter;

use crate::config::{Log, LogFormat, LogLevel};

pub fn start(log: Log) {
    let level = match log.level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    begin(log.format, level);
}

/// For a person at a prompt, who wants the result and not the story: informational lines are left out.
pub fn start_quiet(log: Log) {
    start(Log { level: if log.level == LogLevel::Info { LogLevel::Warn } else { log.level }, ..log });
}

fn begin(format: LogFormat, level: LevelFilter) {
    let builder = tracing_subscriber::fmt().with_writer(std::io::stderr).with_max_level(level).with_ansi(false);
    // A second start in one process keeps the first; that only happens in tests.
    let _ = match format {
        LogFormat::Text => builder.try_init(),
        LogFormat::Json => builder.json().try_init(),
    };
}
