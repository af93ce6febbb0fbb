//! The environment of a session's first command.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use crate::base::search_path;
use crate::base::secret_names::looks_secret;
use crate::base::wildcard;

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

/// Variables that make a shell or the loader run something besides the command.
const STARTUP: [&str; 17] = [
    "BASH_ENV",
    "ENV",
    "SHELLOPTS",
    "BASHOPTS",
    "PS4",
    "PROMPT_COMMAND",
    "CDPATH",
    "GLOBIGNORE",
    "ZDOTDIR",
    "GCONV_PATH",
    "GETCONF_DIR",
    "HOSTALIASES",
    "LOCPATH",
    "MALLOC_TRACE",
    "NLSPATH",
    "RESOLV_HOST_CONF",
    "TZDIR",
];
/// The same, by prefix: exported functions, the loaders of Linux and macOS.
const STARTUP_PREFIXES: [&[u8]; 3] = [b"BASH_FUNC_", b"LD_", b"DYLD_"];

/// They name temporary directories of the server's user. Commands get their own.
const TEMPORARY: [&str; 3] = ["TMPDIR", "TMP", "TEMP"];

/// The PATH of commands when the server itself was started without one.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// `[env]` of the configuration.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    pub login: Login,
    /// Names that are passed on although they look like secrets; `*` matches any part.
    pub pass: Vec<String>,
}

impl Settings {
    /// Whether the configuration passes this variable on to commands.
    pub fn passes(&self, name: &OsStr) -> bool {
        let name = name.to_string_lossy();
        self.pass.iter().any(|pattern| wildcard::matches(pattern, &name))
    }
}

/// Whether a login shell is asked what it would add.
#[derive(Clone, Copy, Debug, Default, serde::Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum Login {
    /// When the server was started without one.
    #[default]
    Auto,
    On,
    Off,
}

/// From the server's own environment.
pub fn initial(
    server: impl IntoIterator<Item = (OsString, OsString)>,
    settings: &Settings,
) -> Vec<(OsString, OsString)> {
    let withheld =
        |name: &OsStr, value: &OsStr| (is_startup(name) || looks_secret(name, value)) && !settings.passes(name);
    let set_by_us = |name: &OsStr| FIXED.iter().map(|(fixed, _)| *fixed).chain(TEMPORARY).any(|ours| name == ours);
    let mut environment: Vec<(OsString, OsString)> =
        server.into_iter().filter(|(name, value)| !withheld(name, value) && !set_by_us(name)).collect();
    environment.extend(FIXED.map(|(name, value)| (name.into(), value.into())));
    if !environment.iter().any(|(name, value)| name == "PATH" && !value.is_empty()) {
        environment.retain(|(name, _)| name != "PATH");
        environment.push(("PATH".into(), DEFAULT_PATH.into()));
    }
    environment
}

/// Settings that hold in every repository, whatever its own configuration says. A directory that only looks like a
/// repository must not count as one, and `git status` must run no program. Hooks are kept: they are the person's own, and
/// commands cannot write them.
const SAFE_GIT: [(&str, &str); 3] =
    [("safe.bareRepository", "explicit"), ("core.fsmonitor", "false"), ("protocol.ext.allow", "never")];

/// For a policy that allows commands by name: where a rule vouches for git, git runs nothing that a planted repository
/// names. Settings that are there already are kept.
pub fn make_git_safe(environment: &mut Vec<(OsString, OsString)>) {
    if is_git_safe(environment) {
        return;
    }
    let set = |environment: &[(OsString, OsString)], name: &str| environment.iter().any(|(known, _)| known == name);
    let pair = |number: usize| [format!("GIT_CONFIG_KEY_{number}"), format!("GIT_CONFIG_VALUE_{number}")];
    // A value that was withheld as a secret ends the list. Otherwise git would refuse to work.
    let there =
        (0..environment.len()).take_while(|number| pair(*number).iter().all(|name| set(environment, name))).count();
    environment.retain(|(name, _)| name != "GIT_CONFIG_COUNT");
    environment.push(("GIT_CONFIG_COUNT".into(), (there + SAFE_GIT.len()).to_string().into()));
    for (number, (key, value)) in SAFE_GIT.iter().enumerate() {
        let [key_name, value_name] = pair(there + number);
        environment.retain(|(name, _)| *name != *key_name && *name != *value_name);
        environment.extend([(key_name.into(), (*key).into()), (value_name.into(), (*value).into())]);
    }
}

/// Whether the settings are there as the last ones, which count.
fn is_git_safe(environment: &[(OsString, OsString)]) -> bool {
    let get = |name: String| search_path::variable(environment, &name)?.to_str();
    let count: Option<usize> = get("GIT_CONFIG_COUNT".to_owned()).and_then(|count| count.parse().ok());
    let Some(first) = count.and_then(|count| count.checked_sub(SAFE_GIT.len())) else { return false };
    SAFE_GIT.iter().enumerate().all(|(number, (key, value))| {
        let number = first + number;
        get(format!("GIT_CONFIG_KEY_{number}")) == Some(*key)
            && get(format!("GIT_CONFIG_VALUE_{number}")) == Some(*value)
    })
}

/// In a terminal somebody can answer, so the settings that keep other programs from asking are taken back.
pub fn for_terminal(environment: &mut Vec<(OsString, OsString)>) {
    environment
        .retain(|(name, value)| name == "TESTUDO" || !FIXED.iter().any(|(fixed, set)| name == fixed && value == set));
    environment.push(("TERM".into(), "xterm-256color".into()));
}

fn is_startup(name: &OsStr) -> bool {
    STARTUP_PREFIXES.iter().any(|prefix| name.as_bytes().starts_with(prefix))
        || STARTUP.iter().any(|startup| name == *startup)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get<'a>(environment: &'a [(OsString, OsString)], name: &str) -> Option<&'a OsStr> {
        environment.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_os_str())
    }

    #[test]
    fn an_empty_path_becomes_a_usable_one() {
        assert_eq!(
            get(&initial([("PATH".into(), "".into())], &Settings::default()), "PATH"),
            Some(OsStr::new(DEFAULT_PATH))
        );
        assert_eq!(get(&initial([], &Settings::default()), "PATH"), Some(OsStr::new(DEFAULT_PATH)));
        assert_eq!(get(&initial([("PATH".into(), "/x".into())], &Settings::default()), "PATH"), Some(OsStr::new("/x")));
    }

    #[test]
    fn nothing_that_hijacks_a_shell_or_waits_for_a_person_gets_through() {
        let environment = initial(
            [
                ("BASH_ENV".into(), "/evil".into()),
                ("BASH_FUNC_ls%%".into(), "() { evil; }".into()),
                ("PAGER".into(), "less".into()),
                ("KEEP".into(), "me".into()),
            ],
            &Settings::default(),
        );
        assert_eq!(get(&environment, "BASH_ENV"), None);
        assert_eq!(get(&initial([("LD_PRELOAD".into(), "x".into())], &Settings::default()), "LD_PRELOAD"), None);
        assert_eq!(get(&environment, "BASH_FUNC_ls%%"), None);
        assert_eq!(get(&environment, "PAGER"), Some(OsStr::new("cat")));
        assert_eq!(get(&environment, "KEEP"), Some(OsStr::new("me")));
    }

    #[test]
    fn settings_of_git_are_added_to_those_that_are_there() {
        let mut environment = vec![
            ("GIT_CONFIG_COUNT".into(), "2".into()),
            ("GIT_CONFIG_KEY_0".into(), "safe.directory".into()),
            ("GIT_CONFIG_VALUE_0".into(), "*".into()),
            // Its value was withheld.
            ("GIT_CONFIG_KEY_1".into(), "http.extraHeader".into()),
        ];
        make_git_safe(&mut environment);
        for (name, value) in [
            ("GIT_CONFIG_COUNT", "4"),
            ("GIT_CONFIG_KEY_0", "safe.directory"),
            ("GIT_CONFIG_KEY_1", "safe.bareRepository"),
            ("GIT_CONFIG_VALUE_1", "explicit"),
            ("GIT_CONFIG_VALUE_3", "never"),
        ] {
            assert_eq!(get(&environment, name), Some(OsStr::new(value)), "{name}");
        }
    }

    #[test]
    fn secrets_are_withheld_unless_they_are_named() {
        let server = || [("GITHUB_TOKEN".into(), "x".into()), ("NPM_TOKEN".into(), "y".into())];
        let passing = |pass: &[&str]| Settings {
            pass: pass.iter().map(|name| (*name).to_owned()).collect(),
            ..Settings::default()
        };
        assert_eq!(get(&initial(server(), &passing(&[])), "GITHUB_TOKEN"), None);
        assert_eq!(get(&initial(server(), &passing(&["GITHUB_*"])), "GITHUB_TOKEN"), Some(OsStr::new("x")));
        assert_eq!(get(&initial(server(), &passing(&["GITHUB_*"])), "NPM_TOKEN"), None);
        assert_eq!(get(&initial(server(), &passing(&["*_TOKEN"])), "NPM_TOKEN"), Some(OsStr::new("y")));
    }
}
