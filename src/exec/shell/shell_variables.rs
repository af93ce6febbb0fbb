//! Variables that mean something to bash itself, or to the libraries that it starts with.

/// Bash sets them, or acts on them when they are set. The names that begin like this are its own too.
const OF_BASH: &str = "_ CDPATH CHILD_MAX COLUMNS COPROC DIRSTACK EMACS ENV EUID EXECIGNORE FCEDIT FIGNORE FUNCNAME FUNCNEST GLOBIGNORE \
     GROUPS HOME HOSTFILE HOSTNAME HOSTTYPE IFS IGNOREEOF INPUTRC INSIDE_EMACS LANG LINENO LINES MACHTYPE MAIL MAILCHECK \
     MAILPATH MAPFILE OLDPWD OPTARG OPTERR OPTIND OSTYPE PATH PIPESTATUS POSIXLY_CORRECT POSIX_PEDANTIC PPID PROMPT_COMMAND \
     PROMPT_DIRTRIM PWD RANDOM REPLY SECONDS SHELL SHELLOPTS SHLVL SRANDOM TERM TIMEFORMAT TMOUT TMPDIR TZ UID \
     auto_resume histchars";
const BEGIN_AS_OF_BASH: [&str; 12] =
    ["BASH", "COMP", "EPOCH", "GLIBC_", "HIST", "LC_", "LD_", "MALLOC_", "PS", "READLINE_", "TEXTDOMAIN", "__testudo"];
/// With one of these, bash may begin with other options than usual (in its posix mode it does not read our prologue), not wait as
/// long as it has to, or count the seconds from another number.
const AGAINST_WAITING: [&str; 5] = ["POSIXLY_CORRECT", "POSIX_PEDANTIC", "SECONDS", "SHELLOPTS", "TMOUT"];

/// They show what the shell did before.
const OF_ONE_SHELL: [&str; 4] = ["_", "PIPESTATUS", "LINENO", "FUNCNAME"];
const BEGIN_AS_OF_ONE_SHELL: [&str; 2] = ["BASH", "__testudo"];

/// Whether the variable is nothing to bash: it has one only if the session has exported it.
pub fn is_only_the_sessions(name: &str) -> bool {
    !BEGIN_AS_OF_BASH.iter().any(|begin| name.starts_with(begin)) && !OF_BASH.split_whitespace().any(|own| own == name)
}

/// Whether a bash with this variable cannot be relied on to wait.
pub fn keeps_from_waiting(name: &std::ffi::OsStr) -> bool {
    AGAINST_WAITING.iter().any(|variable| name == *variable)
}

/// Whether it has the same value in a shell that has run other texts before.
pub fn is_the_same_in_every_shell(name: &str) -> bool {
    !BEGIN_AS_OF_ONE_SHELL.iter().any(|begin| name.starts_with(begin)) && !OF_ONE_SHELL.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bash_has_no_other_variables() {
        let script = "compgen -v";
        let shown = std::process::Command::new("bash").args(["--norc", "-c", script]).env_clear().output().unwrap();
        let names = String::from_utf8(shown.stdout).unwrap();
        assert!(names.lines().count() > 20, "{names}");
        names.lines().for_each(|name| assert!(!is_only_the_sessions(name), "{name}"));
    }

    #[test]
    fn variables_of_the_session_are_known() {
        for name in ["COUNT", "RUST_LOG", "a", "CI", "NODE_ENV"] {
            assert!(is_only_the_sessions(name) && is_the_same_in_every_shell(name), "{name}");
        }
        for name in ["BASHPID", "BASH_SUBSHELL", "_", "PIPESTATUS", "__testudo_text"] {
            assert!(!is_the_same_in_every_shell(name), "{name}");
        }
        assert!(is_the_same_in_every_shell("PWD") && is_the_same_in_every_shell("HOME"));
    }
}
