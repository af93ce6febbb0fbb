//! Everything that can be said on the command line or in the environment, in the order of `--help`. One row is one
//! setting: its key in the file, its flag, its variable, and what it takes.

/// One setting.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Path in the configuration file.
    pub key: &'static str,
    pub flag: &'static str,
    /// Empty where the setting has no variable.
    pub variable: &'static str,
    pub kind: Kind,
    /// What stands for the value in the help.
    pub value: &'static str,
    pub help: &'static str,
}

/// How a written value is read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    Text,
    Number,
    /// A bare flag, or `true`/`false`, `1`/`0`, `on`/`off`, `yes`/`no` in the environment.
    Switch,
    /// Repeated on the command line, separated by commas in the environment.
    List,
    /// As `List`, and added to what the file says rather than put in its place: a flag must not lift a prohibition.
    Rules,
    /// As `List`, and commas separate on the command line too.
    CommaList,
    Choice(&'static [&'static str]),
}

pub const SETTINGS: &[Setting] = &[
    Setting {
        key: "transport",
        flag: "transport",
        variable: "TESTUDO_TRANSPORT",
        kind: Kind::Choice(&["stdio", "http"]),
        value: "stdio|http",
        help: "How clients reach the server",
    },
    Setting {
        key: "http.listen",
        flag: "listen",
        variable: "TESTUDO_LISTEN",
        kind: Kind::Text,
        value: "HOST:PORT",
        help: "Where http listens; port 0 is any, and the chosen one is printed on stderr",
    },
    Setting {
        key: "http.token",
        flag: "token",
        variable: TOKEN_VARIABLE,
        kind: Kind::Text,
        value: "TOKEN",
        help: "What http clients must show as bearer token; without one, a token is made and printed on stderr",
    },
    Setting {
        key: "http.token_file",
        flag: "token-file",
        variable: "",
        kind: Kind::Text,
        value: "FILE",
        help: "Tokens of several clients, one NAME TOKEN a line",
    },
    Setting {
        key: "http.no_auth",
        flag: "no-auth",
        variable: "",
        kind: Kind::Switch,
        value: "",
        help: "Ask http clients for no token; on a loopback address only",
    },
    Setting {
        key: "workdir",
        flag: "workdir",
        variable: "TESTUDO_WORKDIR",
        kind: Kind::Text,
        value: "DIR",
        help: "The launch directory",
    },
    Setting {
        key: "project_dir",
        flag: "project-dir",
        variable: "TESTUDO_PROJECT_DIR",
        kind: Kind::Text,
        value: "DIR",
        help: "Where work happens when the client offers no roots",
    },
    Setting {
        key: "workspace_dir",
        flag: "workspace-dir",
        variable: "TESTUDO_WORKSPACE_DIR",
        kind: Kind::Text,
        value: "DIR",
        help: "One more tree that file tools may touch",
    },
    Setting {
        key: "allow_dir",
        flag: "allow-dir",
        variable: "TESTUDO_ALLOW_DIRS",
        kind: Kind::List,
        value: "DIR",
        help: "The operator's ceiling: nothing outside can come into scope (repeat)",
    },
    Setting {
        key: "deny_dir",
        flag: "deny-dir",
        variable: "TESTUDO_DENY_DIRS",
        kind: Kind::List,
        value: "GLOB",
        help: "Out of bounds, whatever else is said (repeat)",
    },
    Setting {
        key: "toolset",
        flag: "toolset",
        variable: "TESTUDO_TOOLSET",
        kind: Kind::CommaList,
        value: "NAME",
        help: "Which tools are offered: standard, anthropic, terminal, gemini, all (repeat or commas)",
    },
    Setting {
        key: "anthropic_compat",
        flag: "anthropic-compat",
        variable: "TESTUDO_ANTHROPIC_COMPAT",
        kind: Kind::Switch,
        value: "",
        help: "The same as --toolset anthropic",
    },
    Setting {
        key: "disable_tools",
        flag: "disable-tools",
        variable: "TESTUDO_DISABLE_TOOLS",
        kind: Kind::CommaList,
        value: "A,B",
        help: "Tools that are left out",
    },
    Setting {
        key: "timeout",
        flag: "timeout",
        variable: "TESTUDO_TIMEOUT",
        kind: Kind::Number,
        value: "SECONDS",
        help: "Before a command is ended, unless the call says otherwise",
    },
    Setting {
        key: "background_timeout",
        flag: "background-timeout",
        variable: "TESTUDO_BACKGROUND_TIMEOUT",
        kind: Kind::Number,
        value: "SECONDS",
        help: "The same for background tasks; 0 is no limit",
    },
    Setting {
        key: "max_file_size",
        flag: "max-file-size",
        variable: "TESTUDO_MAX_FILE_SIZE",
        kind: Kind::Text,
        value: "SIZE",
        help: "The largest file that is read whole or written (B, KB, MB, GB)",
    },
    Setting {
        key: "sandbox.mode",
        flag: "sandbox",
        variable: "TESTUDO_SANDBOX",
        kind: Kind::Choice(&["read-only", "workspace-write", "off"]),
        value: "MODE",
        help: "What commands may write: read-only, workspace-write, off",
    },
    Setting {
        key: "sandbox.network",
        flag: "network",
        variable: "TESTUDO_NETWORK",
        kind: Kind::Choice(&["on", "off"]),
        value: "on|off",
        help: "Whether commands may use the network",
    },
    Setting {
        key: "policy.allow",
        flag: "allow",
        variable: "",
        kind: Kind::Rules,
        value: "WORDS",
        help: "Run this program, or program with these first arguments, without asking (repeat)",
    },
    Setting {
        key: "policy.ask",
        flag: "ask",
        variable: "",
        kind: Kind::Rules,
        value: "WORDS",
        help: "Ask the person before running it (repeat)",
    },
    Setting {
        key: "policy.deny",
        flag: "deny",
        variable: "",
        kind: Kind::Rules,
        value: "WORDS",
        help: "Never run it (repeat)",
    },
    Setting {
        key: "policy.unlisted",
        flag: "unlisted",
        variable: "TESTUDO_UNLISTED",
        kind: Kind::Choice(&["allow", "ask", "deny"]),
        value: "allow|ask|deny",
        help: "What to do about a command that no rule names",
    },
    Setting {
        key: "policy.allow_project_commands",
        flag: "allow-project-commands",
        variable: "TESTUDO_ALLOW_PROJECT_COMMANDS",
        kind: Kind::Switch,
        value: "",
        help: "Allow programs of the project, named by their path",
    },
    Setting {
        key: "log.level",
        flag: "log-level",
        variable: "TESTUDO_LOG_LEVEL",
        kind: Kind::Choice(&["error", "warn", "info", "debug", "trace"]),
        value: "LEVEL",
        help: "How much is logged on stderr: error, warn, info, debug, trace",
    },
    Setting {
        key: "log.format",
        flag: "log-format",
        variable: "TESTUDO_LOG_FORMAT",
        kind: Kind::Choice(&["text", "json"]),
        value: "text|json",
        help: "How it is logged",
    },
];

/// The file itself is named beside the settings it holds.
pub const CONFIG_FLAG: &str = "config";
pub const CONFIG_VARIABLE: &str = "TESTUDO_CONFIG";
/// Holds a secret, so it is not handed on.
pub const TOKEN_VARIABLE: &str = "TESTUDO_TOKEN";

impl Kind {
    /// A value as the file would hold it.
    pub fn read(self, written: &[String]) -> Result<toml::Value, String> {
        let last = written.last().map(String::as_str).unwrap_or_default();
        match self {
            Self::Text => Ok(toml::Value::String(last.to_owned())),
            Self::Number => last
                .trim()
                .parse::<i64>()
                .ok()
                .filter(|number| *number >= 0)
                .map(toml::Value::Integer)
                .ok_or_else(|| format!("{last:?} is not a whole number of 0 or more")),
            Self::Switch => match last.to_ascii_lowercase().as_str() {
                "true" | "1" | "on" | "yes" => Ok(toml::Value::Boolean(true)),
                "false" | "0" | "off" | "no" | "" => Ok(toml::Value::Boolean(false)),
                _ => Err(format!("{last:?} is neither true nor false")),
            },
            Self::List | Self::Rules => Ok(list(written.iter().map(String::as_str))),
            Self::CommaList => Ok(list(written.iter().flat_map(|text| text.split(',')))),
            Self::Choice(choices) if choices.contains(&last) => Ok(toml::Value::String(last.to_owned())),
            Self::Choice(choices) => Err(match crate::base::spelling::nearest(last, choices.iter().copied()) {
                Some(near) => format!("{last:?} is not one of {}; did you mean {near}?", choices.join(", ")),
                None => format!("{last:?} is not one of {}", choices.join(", ")),
            }),
        }
    }

    /// As [`Kind::read`], for a variable, where commas separate the items of every list.
    pub fn read_variable(self, written: &str) -> Result<toml::Value, String> {
        let kind = if self == Self::List { Self::CommaList } else { self };
        kind.read(&[written.to_owned()])
    }
}

fn list<'a>(items: impl Iterator<Item = &'a str>) -> toml::Value {
    items.map(str::trim).filter(|item| !item.is_empty()).map(toml::Value::from).collect::<Vec<_>>().into()
}
