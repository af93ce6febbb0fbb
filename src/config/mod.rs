//! Configuration. Four layers are merged, and a later layer wins over an earlier one: the embedded defaults, the
//! configuration file, the environment, the flags.
//!
//! 1. `defaults.toml` is the manual: every key of the file with its default. [`options`] lists the flags and variables.
//! 2. [`layers`] merges the layers into one table. A mistake is reported with the layer that holds it.
//! 3. [`written`] reads that table: each settings struct takes its own keys.
//! 4. [`mod@load`] resolves what was written into [`Config`]: paths exist, tokens are read, globs are compiled.
//!
//! A new setting is a field of the struct that owns its table, named like its key, and a line in `defaults.toml`. A
//! setting with a flag also has a row in [`options`]. The settings of `exec`, `files`, `policy` and `sandbox` belong to
//! those modules; `config` knows no module above them.

mod config;
mod directories;
mod directory_settings;
mod effect;
mod error;
mod file_stamp;
mod http_settings;
mod layers;
mod listen;
mod load;
mod log_settings;
mod one_or_more;
mod option_kind;
pub mod options;
mod source;
mod tokens;
mod tool_settings;
mod toolset;
mod written;

use std::sync::LazyLock;

pub use config::{Config, Transport};
pub use directories::{Directories, OfferedRoot};
pub use effect::{EFFECTS, Effect, changed_keys};
pub use error::ConfigError;
pub use file_stamp::FileStamp;
pub use http_settings::HttpSettings;
pub use listen::Listen;
pub use load::{load, load_again, load_without_file, refuse_inside};
pub use log_settings::{LogFormat, LogLevel, LogSettings};
pub use option_kind::OptionKind;
pub use source::Source;
pub use tokens::Tokens;
pub use tool_settings::ToolSettings;
pub use toolset::Toolset;

/// The manual, which is also the first layer.
pub const DEFAULTS: &str = include_str!("defaults.toml");

/// The same as a table.
pub static DEFAULT_TABLE: LazyLock<toml::Table> =
    LazyLock::new(|| DEFAULTS.parse().expect("the embedded defaults are valid"));
