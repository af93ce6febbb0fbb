//! What an assignment to a variable can do to the programs that read the variable.

/// What programs do with the value of a variable.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ValueUse {
    /// They use it as data.
    Data,
    /// Some program runs it as a command.
    Command,
    /// Not known. It may change what a program, the loader or the shell does.
    Unknown,
}

/// Locale, colours, verbosity, identity, platform. None of them names a program or a file to load.
const DATA: &[&str] = &[
    "LANG",
    "LANGUAGE",
    "TZ",
    "CI",
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLUMNS",
    "LINES",
    "TERM",
    "DEBUG",
    "VERBOSE",
    "LOG_LEVEL",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "RUST_TEST_THREADS",
    "RUST_MIN_STACK",
    "CARGO_TERM_COLOR",
    "CARGO_INCREMENTAL",
    "CARGO_NET_OFFLINE",
    "INSTA_UPDATE",
    "PROPTEST_CASES",
    "NODE_ENV",
    "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONHASHSEED",
    "PYTHONIOENCODING",
    "PYTHONUTF8",
    "PIP_NO_INPUT",
    "GOOS",
    "GOARCH",
    "CGO_ENABLED",
    "GOMAXPROCS",
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_DATE",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_DATE",
    "GIT_OPTIONAL_LOCKS",
    "GIT_TERMINAL_PROMPT",
    "SOURCE_DATE_EPOCH",
    "DEBIAN_FRONTEND",
    "OMP_NUM_THREADS",
    "HOMEBREW_NO_AUTO_UPDATE",
    "TIMEFORMAT",
];

/// Some program or the shell runs the value of each.
const COMMANDS: &[&str] = &[
    "PAGER",
    "GIT_PAGER",
    "MANPAGER",
    "SYSTEMD_PAGER",
    "AWS_PAGER",
    "EDITOR",
    "VISUAL",
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "FCEDIT",
    "BROWSER",
    "GIT_EXTERNAL_DIFF",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_PROXY_COMMAND",
    "GIT_ASKPASS",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "LESSOPEN",
    "LESSCLOSE",
    "PROMPT_COMMAND",
    "RSYNC_RSH",
    "CVS_RSH",
    "TAR_OPTIONS",
    "RUSTC_WRAPPER",
    "RUSTC",
    "CARGO_BUILD_RUSTC_WRAPPER",
    "CC",
    "CXX",
    "SHELL",
    "MAKE",
    "PS0",
    "PS1",
    "PS2",
    "PS4",
];

pub fn value_use(name: &str) -> ValueUse {
    if DATA.contains(&name) || name.starts_with("LC_") || is_scratch(name) {
        ValueUse::Data
    } else if COMMANDS.contains(&name) {
        ValueUse::Command
    } else {
        ValueUse::Unknown
    }
}

/// Scripts use names in lower case for their own variables. The few such names that programs read are excluded.
fn is_scratch(name: &str) -> bool {
    let lower = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    lower && !name.ends_with("_proxy") && !name.starts_with("npm_") && !["histchars", "auto_resume"].contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted() {
        let rows = [
            ("LC_ALL", ValueUse::Data),
            ("file", ValueUse::Data),
            ("GIT_PAGER", ValueUse::Command),
            ("PATH", ValueUse::Unknown),
            ("LD_PRELOAD", ValueUse::Unknown),
            ("IFS", ValueUse::Unknown),
            ("https_proxy", ValueUse::Unknown),
            ("npm_config_shell", ValueUse::Unknown),
        ];
        for (name, expected) in rows {
            assert_eq!(value_use(name), expected, "{name}");
        }
    }
}
