//! What a session's first command finds in its environment.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// Nothing may wait for a person: pagers print, editors fail, prompts are refused.
const FIXED: [(&str, &str); 10] = [
    ("TESTUDO", "1"),
    ("TERM", "dumb"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("EDITOR", "false"),
    ("VISUAL", "false"),
    ("GIT_EDITOR", "false"),
    ("GIT_SEQUENCE_EDITOR", "false"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

/// They make a shell run something before, around or after the text it was given.
const SHELL_STARTUP: [&str; 8] =
    ["BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PS4", "PROMPT_COMMAND", "CDPATH", "GLOBIGNORE"];

/// Where programs are looked for when the server itself was started without a PATH.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// From the server's own environment.
pub fn initial(server: impl IntoIterator<Item = (OsString, OsString)>) -> Vec<(OsString, OsString)> {
    let mut environment: Vec<(OsString, OsString)> = server
        .into_iter()
        .filter(|(name, _)| !is_startup(name) && FIXED.iter().all(|(fixed, _)| name != fixed))
        .collect();
    environment.extend(FIXED.map(|(name, value)| (name.into(), value.into())));
    if !environment.iter().any(|(name, value)| name == "PATH" && !value.is_empty()) {
        environment.retain(|(name, _)| name != "PATH");
        environment.push(("PATH".into(), DEFAULT_PATH.into()));
    }
    environment
}

/// In a terminal a person, or an agent in their place, does answer: what we forced for the others is given back.
pub fn for_terminal(environment: &mut Vec<(OsString, OsString)>) {
    environment
        .retain(|(name, value)| name == "TESTUDO" || !FIXED.iter().any(|(fixed, set)| name == fixed && value == set));
    environment.push(("TERM".into(), "xterm-256color".into()));
}

fn is_startup(name: &OsStr) -> bool {
    name.as_bytes().starts_with(b"BASH_FUNC_") || SHELL_STARTUP.iter().any(|startup| name == *startup)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get<'a>(environment: &'a [(OsString, OsString)], name: &str) -> Option<&'a OsStr> {
        environment.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_os_str())
    }

    #[test]
    fn an_empty_path_becomes_a_usable_one() {
        assert_eq!(get(&initial([("PATH".into(), "".into())]), "PATH"), Some(OsStr::new(DEFAULT_PATH)));
        assert_eq!(get(&initial([]), "PATH"), Some(OsStr::new(DEFAULT_PATH)));
        assert_eq!(get(&initial([("PATH".into(), "/x".into())]), "PATH"), Some(OsStr::new("/x")));
    }

    #[test]
    fn nothing_that_hijacks_a_shell_or_waits_for_a_person_gets_through() {
        let environment = initial([
            ("BASH_ENV".into(), "/evil".into()),
            ("BASH_FUNC_ls%%".into(), "() { evil; }".into()),
            ("PAGER".into(), "less".into()),
            ("KEEP".into(), "me".into()),
        ]);
        assert_eq!(get(&environment, "BASH_ENV"), None);
        assert_eq!(get(&environment, "BASH_FUNC_ls%%"), None);
        assert_eq!(get(&environment, "PAGER"), Some(OsStr::new("cat")));
        assert_eq!(get(&environment, "KEEP"), Some(OsStr::new("me")));
    }
}
