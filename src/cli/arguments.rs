//! The command line, built from the table of settings.

use std::ffi::OsString;
use std::sync::LazyLock;

use clap::{Arg, ArgAction, ArgMatches};

use crate::config::options::{CONFIG_FLAG, Kind, SETTINGS};

pub struct Arguments {
    pub command: Command,
    /// As [`crate::config::Source`] wants them.
    pub flags: Vec<(String, Vec<String>)>,
}

pub enum Command {
    Serve,
    Call { tool: String, words: Vec<String> },
    Explain { text: String, json: bool },
    Revoke { ids: Vec<String> },
    Doctor,
}

pub fn parse(words: Vec<OsString>) -> Result<Arguments, clap::Error> {
    let matches = command().try_get_matches_from(words)?;
    let flags = |inner: Option<&ArgMatches>| given(&matches).chain(inner.into_iter().flat_map(given)).collect();
    Ok(match matches.subcommand() {
        Some(("call", inner)) => Arguments {
            command: Command::Call {
                tool: inner.get_one::<String>("TOOL").cloned().unwrap_or_default(),
                words: inner.get_many::<String>("ARGUMENTS").into_iter().flatten().cloned().collect(),
            },
            flags: flags(Some(inner)),
        },
        Some(("explain", inner)) => Arguments {
            command: Command::Explain {
                text: inner.get_one::<String>("COMMAND").cloned().unwrap_or_default(),
                json: inner.get_flag("json"),
            },
            flags: flags(Some(inner)),
        },
        Some(("revoke", inner)) => Arguments {
            command: Command::Revoke { ids: inner.get_many::<String>("ID").into_iter().flatten().cloned().collect() },
            flags: flags(Some(inner)),
        },
        Some(("doctor", inner)) => Arguments { command: Command::Doctor, flags: flags(Some(inner)) },
        inner => Arguments { command: Command::Serve, flags: flags(inner.map(|(_, inner)| inner)) },
    })
}

/// The flags that were written, with all their values.
fn given(matches: &ArgMatches) -> impl Iterator<Item = (String, Vec<String>)> {
    let written = |name: &str| matches.value_source(name) == Some(clap::parser::ValueSource::CommandLine);
    let switches = SETTINGS.iter().filter(move |setting| setting.kind == Kind::Switch && written(setting.flag));
    let valued = SETTINGS
        .iter()
        .filter(|setting| setting.kind != Kind::Switch)
        .map(|setting| setting.flag)
        .chain([CONFIG_FLAG])
        .filter(move |flag| written(flag));
    let values = |flag: &str| matches.get_many::<String>(flag).into_iter().flatten().cloned().collect();
    switches
        .map(|setting| (setting.flag.to_owned(), vec!["true".to_owned()]))
        .chain(valued.map(move |flag| (flag.to_owned(), values(flag))))
        .collect::<Vec<_>>()
        .into_iter()
}

pub fn command() -> clap::Command {
    clap::Command::new("testudo")
        .version(env!("CARGO_PKG_VERSION"))
        .about("A shielded shell for AI agents: an MCP server that never hangs and loses nothing")
        .after_help(
            "Without a subcommand it serves MCP on stdio, which is what a client's configuration starts.\n\
             Try it by hand:  testudo call bash command='echo hello'",
        )
        .args(options())
        .subcommand(clap::Command::new("serve").about("Serve MCP (the default)").args(options()))
        .subcommand(
            clap::Command::new("call")
                .about("Make one call and print its result: the way a person tries a tool")
                .after_help(
                    "Examples:\n  testudo call bash command='ls -l' timeout=5000\n  \
                     testudo call bash '{\"command\": \"cat\", \"stdin\": \"hello\"}'",
                )
                .arg(Arg::new("TOOL").required(true).help("The tool's name, as in tools/list"))
                .arg(
                    Arg::new("ARGUMENTS")
                        .num_args(0..)
                        .value_name("KEY=VALUE|JSON")
                        .help("Its arguments: key=value pairs, or one JSON object"),
                )
                .args(options()),
        )
        .subcommand(
            clap::Command::new("explain")
                .about("Judge a command line without running it: what was found in it, the verdict, the rule")
                .after_help("Example:\n  testudo explain --deny rm 'ls | xargs rm'")
                .arg(
                    Arg::new("COMMAND")
                        .required(true)
                        .allow_hyphen_values(true)
                        .help("Shell text, as for the bash tool"),
                )
                .arg(Arg::new("json").long("json").action(ArgAction::SetTrue).help("Print the judgement as JSON"))
                .args(options()),
        )
        .subcommand(
            clap::Command::new("revoke")
                .about("Take back approvals that a person has given in servers that run now; doctor lists them")
                .after_help("Examples:\n  testudo revoke 3fa29c\n  testudo revoke all")
                .arg(Arg::new("ID").required(true).num_args(1..).help("The approval's id, or all"))
                .args(options()),
        )
        .subcommand(
            clap::Command::new("doctor")
                .about("Show what this machine can enforce and what is configured")
                .args(options()),
        )
}

fn options() -> Vec<Arg> {
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
            Kind::Switch => arg.action(ArgAction::SetTrue),
            Kind::List | Kind::Rules | Kind::CommaList => arg.value_name(setting.value).action(ArgAction::Append),
            _ => arg.value_name(setting.value).action(ArgAction::Set),
        }
    });
    settings.chain([config]).map(|arg| arg.help_heading("Options")).collect()
}

/// As the manual has it; nothing for what is unset or empty.
fn default_of(key: &str) -> Option<String> {
    // Read once: the options of every subcommand ask, and a server starts in a few milliseconds.
    static DEFAULTS: LazyLock<Option<toml::Value>> =
        LazyLock::new(|| crate::config::DEFAULTS.parse().ok().map(toml::Value::Table));
    let value = key.split('.').try_fold(DEFAULTS.as_ref()?, |value, part| value.get(part))?;
    match value {
        toml::Value::String(text) if !text.is_empty() => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Array(items) if !items.is_empty() => {
            Some(items.iter().filter_map(toml::Value::as_str).collect::<Vec<_>>().join(","))
        }
        _ => None,
    }
}
