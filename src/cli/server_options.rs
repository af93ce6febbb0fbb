//! The flags that every subcommand takes, built from the table of settings.

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches};

use crate::config::options::{CONFIG_FLAG, SETTINGS};
use crate::config::{DEFAULT_TABLE, OptionKind};

pub fn all() -> Vec<Arg> {
    let config = Arg::new(CONFIG_FLAG)
        .long(CONFIG_FLAG)
        .value_name("FILE")
        .help("Read settings from this file [$TESTUDO_CONFIG, default: $XDG_CONFIG_HOME/testudo/config.toml]");
    let settings = SETTINGS.iter().map(|setting| {
        let default = default_of(setting.key).map(|value| format!("default: {value}"));
        let variable = (!setting.variable.is_empty()).then(|| format!("${}", setting.variable));
        let notes = variable.into_iter().chain(default).collect::<Vec<_>>().join(", ");
        let help = if notes.is_empty() { setting.help.to_owned() } else { format!("{} [{notes}]", setting.help) };
        let arg = Arg::new(setting.flag).long(setting.flag).help(help);
        match setting.kind {
            OptionKind::Switch => arg.action(ArgAction::SetTrue),
            OptionKind::List | OptionKind::Rules | OptionKind::CommaList => {
                arg.value_name(setting.value).action(ArgAction::Append)
            }
            OptionKind::Text | OptionKind::Number | OptionKind::Choice(_) => {
                arg.value_name(setting.value).action(ArgAction::Set)
            }
        }
    });
    settings.chain([config]).collect()
}

/// The flags that were given, with all their values, as [`crate::config::Source`] takes them.
pub fn given(matches: &ArgMatches) -> Vec<(String, Vec<String>)> {
    let settings = SETTINGS.iter().map(|setting| (setting.flag, setting.kind)).chain([(CONFIG_FLAG, OptionKind::Text)]);
    let written = settings.filter(|(flag, _)| matches.value_source(flag) == Some(ValueSource::CommandLine));
    written
        .map(|(flag, kind)| {
            let values = match kind {
                OptionKind::Switch => vec!["true".to_owned()],
                _ => matches.get_many::<String>(flag).into_iter().flatten().cloned().collect(),
            };
            (flag.to_owned(), values)
        })
        .collect()
}

/// The default of a key in `defaults.toml`. None if it is empty.
fn default_of(key: &str) -> Option<String> {
    let mut parts = key.split('.');
    let first = DEFAULT_TABLE.get(parts.next()?)?;
    let value = parts.try_fold(first, |value, part| value.get(part))?;
    match value {
        toml::Value::String(text) if !text.is_empty() => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Array(items) if !items.is_empty() => {
            Some(items.iter().filter_map(toml::Value::as_str).collect::<Vec<_>>().join(","))
        }
        _ => None,
    }
}
