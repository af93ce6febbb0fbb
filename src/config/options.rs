//! The flags and variables, in the order of `--help`. One row is one setting.

use super::OptionKind;

/// A setting that has a flag.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Its path in the configuration file.
    pub key: &'static str,
    pub flag: &'static str,
    /// Empty if the setting has no variable.
    pub variable: &'static str,
    pub kind: OptionKind,
    /// The placeholder for the value in the help.
    pub value: &'static str,
    pub help: &'static str,
}

/// Names the configuration file itself, so it is no setting.
pub const CONFIG_FLAG: &str = "config";
pub const CONFIG_VARIABLE: &str = "TESTUDO_CONFIG";
/// Holds a secret, so commands must not find it in our command line.
pub const TOKEN_FLAG: &str = "token";
/// Holds a secret, so commands do not inherit it.
pub const TOKEN_VARIABLE: &str = "TESTUDO_TOKEN";

pub const SETTINGS: &[Setting] = &[
    Setting {
        key: "transport",
        flag: "transport",
        variable: "TESTUDO_TRANSPORT",
        kind: OptionKind::Choice(&["stdio", "http"]),
        value: "stdio|http",
        help: "How clients reach the server",
    },
    Setting {
        key: "http.listen",
        flag: "listen",
        variable: "TESTUDO_LISTEN",
        kind: OptionKind::Text,
        value: "HOST:PORT|unix:PATH",
        help: "Where http listens: an address (with port 0 the system chooses the port and stderr tells it), or a socket that only this user can connect to",
    },
    Setting {
        key: "http.token",
        flag: TOKEN_FLAG,
        variable: TOKEN_VARIABLE,
        kind: OptionKind::Text,
        value: "TOKEN",
        help: "The bearer token that http clients must send; without one, testudo generates a token and prints it on stderr",
    },
    Setting {
        key: "http.token_file",
        flag: "token-file",
        variable: "",
        kind: OptionKind::Text,
        value: "FILE",
        help: "A file with the tokens of several clients, one `NAME TOKEN` per line",
    },
    Setting {
        key: "http.no_auth",
        flag: "no-auth",
        variable: "",
        kind: OptionKind::Switch,
        value: "",
        help: "Accept http clients without a token; on a loopback address only, and not with the network on for commands",
    },
    Setting {
        key: "workdir",
        flag: "workdir",
        variable: "TESTUDO_WORKDIR",
        kind: OptionKind::Text,
        value: "DIR",
        help: "The launch directory; it must exist",
    },
    Setting {
        key: "project_dir",
        flag: "project-dir",
        variable: "TESTUDO_PROJECT_DIR",
        kind: OptionKind::Text,
        value: "DIR",
        help: "The project directory, used when the client offers no roots",
    },
    Setting {
        key: "workspace_dir",
        flag: "workspace-dir",
        variable: "TESTUDO_WORKSPACE_DIR",
        kind: OptionKind::Text,
        value: "DIR",
        help: "A further directory that file tools may read and write",
    },
    Setting {
        key: "allow_dir",
        flag: "allow-dir",
        variable: "TESTUDO_ALLOW_DIRS",
        kind: OptionKind::List,
        value: "DIR",
        help: "Limit the scope to this directory; roots outside it are ignored (may be repeated)",
    },
    Setting {
        key: "deny_dir",
        flag: "deny-dir",
        variable: "TESTUDO_DENY_DIRS",
        kind: OptionKind::List,
        value: "GLOB",
        help: "Keep file tools out of paths that match; wins over every other setting (may be repeated)",
    },
    Setting {
        key: "toolset",
        flag: "toolset",
        variable: "TESTUDO_TOOLSET",
        kind: OptionKind::CommaList,
        value: "NAME",
        help: "Which tools are offered: standard, anthropic, terminal, gemini, all (may be repeated, or separated by commas)",
    },
    Setting {
        key: "anthropic_compat",
        flag: "anthropic-compat",
        variable: "TESTUDO_ANTHROPIC_COMPAT",
        kind: OptionKind::Switch,
        value: "",
        help: "The same as --toolset anthropic",
    },
    Setting {
        key: "disable_tools",
        flag: "disable-tools",
        variable: "TESTUDO_DISABLE_TOOLS",
        kind: OptionKind::CommaList,
        value: "A,B",
        help: "Tools that are not offered",
    },
    Setting {
        key: "timeout",
        flag: "timeout",
        variable: "TESTUDO_TIMEOUT",
        kind: OptionKind::Number,
        value: "SECONDS",
        help: "How long a command may run, unless the call sets its own timeout",
    },
    Setting {
        key: "answer_within",
        flag: "answer-within",
        variable: "TESTUDO_ANSWER_WITHIN",
        kind: OptionKind::Number,
        value: "SECONDS",
        help: "When to answer a call that has no timeout and shows no progress; its command goes on as a task (0 = never)",
    },
    Setting {
        key: "background_timeout",
        flag: "background-timeout",
        variable: "TESTUDO_BACKGROUND_TIMEOUT",
        kind: OptionKind::Number,
        value: "SECONDS",
        help: "How long a background task may run; 0 means no limit",
    },
    Setting {
        key: "max_file_size",
        flag: "max-file-size",
        variable: "TESTUDO_MAX_FILE_SIZE",
        kind: OptionKind::Text,
        value: "SIZE",
        help: "The largest file that is read whole or written, in B, KB, MB or GB",
    },
    Setting {
        key: "sandbox.mode",
        flag: "sandbox",
        variable: "TESTUDO_SANDBOX",
        kind: OptionKind::Choice(&["read-only", "workspace-write", "off"]),
        value: "MODE",
        help: "What commands may write: read-only, workspace-write, off",
    },
    Setting {
        key: "sandbox.network",
        flag: "network",
        variable: "TESTUDO_NETWORK",
        kind: OptionKind::Choice(&["on", "off"]),
        value: "on|off",
        help: "Whether commands may use the network",
    },
    Setting {
        key: "draft",
        flag: "draft",
        variable: "TESTUDO_DRAFT",
        kind: OptionKind::Switch,
        value: "",
        help: "Work on a draft of the project: the person's files stay as they are until `testudo apply`",
    },
    Setting {
        key: "policy.allow",
        flag: "allow",
        variable: "",
        kind: OptionKind::Rules,
        value: "WORDS",
        help: "Run this program, or this program with these first arguments, without asking (may be repeated)",
    },
    Setting {
        key: "policy.ask",
        flag: "ask",
        variable: "",
        kind: OptionKind::Rules,
        value: "WORDS",
        help: "Ask the person before running it (may be repeated)",
    },
    Setting {
        key: "policy.deny",
        flag: "deny",
        variable: "",
        kind: OptionKind::Rules,
        value: "WORDS",
        help: "Never run it (may be repeated)",
    },
    Setting {
        key: "policy.unlisted",
        flag: "unlisted",
        variable: "TESTUDO_UNLISTED",
        kind: OptionKind::Choice(&["allow", "ask", "deny"]),
        value: "allow|ask|deny",
        help: "The verdict on a command that no rule names",
    },
    Setting {
        key: "policy.allow_project_commands",
        flag: "allow-project-commands",
        variable: "TESTUDO_ALLOW_PROJECT_COMMANDS",
        kind: OptionKind::Switch,
        value: "",
        help: "Allow programs that are files of the project and are called by their path",
    },
    Setting {
        key: "log.level",
        flag: "log-level",
        variable: "TESTUDO_LOG_LEVEL",
        kind: OptionKind::Choice(&["error", "warn", "info", "debug", "trace"]),
        value: "LEVEL",
        help: "How much is logged on stderr: error, warn, info, debug, trace",
    },
    Setting {
        key: "log.format",
        flag: "log-format",
        variable: "TESTUDO_LOG_FORMAT",
        kind: OptionKind::Choice(&["text", "json"]),
        value: "text|json",
        help: "The format of the log",
    },
];
