use serde::Deserialize;

use crate::keeper::protocol::TerminalSize;

/// What the command tools share: keys at the top of the configuration, and the tables `[output]` and `[tasks]`.
#[derive(Clone, Debug, Deserialize)]
pub struct Settings {
    /// Seconds before a command is ended, unless the call says otherwise.
    pub timeout: u64,
    /// Seconds before a call that shows no progress is answered while its command goes on; 0 is never.
    pub answer_within: u64,
    /// Seconds before a background task is ended, unless its call says otherwise; 0 is no limit.
    pub background_timeout: u64,
    pub output: OutputSettings,
    pub tasks: TaskSettings,
}

/// `[tasks]` of the configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskSettings {
    pub terminal_rows: u16,
    pub terminal_columns: u16,
    /// Lines that are kept after they scrolled off a terminal's screen.
    pub scrollback_lines: usize,
    /// Seconds after which a terminal that nobody reads or writes is ended; 0 is never.
    pub terminal_idle: u64,
}

impl TaskSettings {
    pub fn terminal_size(&self) -> TerminalSize {
        TerminalSize { rows: self.terminal_rows.clamp(1, 500), columns: self.terminal_columns.clamp(1, 500) }
    }
}

/// `[output]` of the configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutputSettings {
    /// Characters of each stream that a result shows.
    pub view_characters: usize,
    /// Bytes of each stream that are kept on disk.
    #[serde(deserialize_with = "crate::base::size::size")]
    pub store_bytes: u64,
}
