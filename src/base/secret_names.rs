//! Which variables look like secrets. Commands do not get them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// Whole words of a name, as `_` separates them.
const WORDS: [&str; 16] = [
    "TOKEN",
    "SECRET",
    "SECRETS",
    "PASSWORD",
    "PASSWD",
    "PASS",
    "PASSPHRASE",
    "CREDENTIAL",
    "CREDENTIALS",
    "KEY",
    "KEYS",
    "AUTH",
    "COOKIE",
    "JWT",
    "BEARER",
    "PAT",
];
/// Parts of a name, for names without underscores.
const PARTS: [&str; 7] = ["PASSWORD", "PASSWD", "PASSPHRASE", "APIKEY", "SECRET", "CREDENTIAL", "AUTHTOKEN"];
/// Prefixes of providers. Half of these variables are secret, and the rest are useless without the secret.
const PREFIXES: [&str; 5] = ["AWS_", "AZURE_", "ARM_", "VAULT_", "OP_SESSION"];
/// Variables that lead to agents, daemons and clusters, which act with the user's rights.
const NAMES: [&str; 14] = [
    "SSH_AGENT_PID",
    "GPG_AGENT_INFO",
    "GNOME_KEYRING_CONTROL",
    "DBUS_SESSION_BUS_ADDRESS",
    "DBUS_SYSTEM_BUS_ADDRESS",
    "DOCKER_HOST",
    "DOCKER_CONFIG",
    "CONTAINER_HOST",
    "KUBECONFIG",
    "XAUTHORITY",
    "MYSQL_PWD",
    "NETRC",
    "BOTO_CONFIG",
    "CLOUDSDK_CONFIG",
];
/// Prefixes of well-known secrets, whatever the variable's name.
pub const VALUES: [&[u8]; 12] = [
    b"ghp_",
    b"gho_",
    b"ghs_",
    b"ghu_",
    b"github_pat_",
    b"glpat-",
    b"sk-",
    b"xoxb-",
    b"xoxp-",
    b"AKIA",
    b"eyJhbGciOi",
    b"-----BEGIN",
];

pub fn looks_secret(name: &OsStr, value: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    let words = || name.split(|c: char| !c.is_ascii_alphanumeric());
    words().any(|word| WORDS.contains(&word))
        || PARTS.iter().any(|part| name.contains(part))
        || name.ends_with("TOKEN")
        || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || NAMES.contains(&name.as_str())
        || VALUES.iter().any(|begin| value.as_bytes().starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_name_or_value_and_ordinary_names_are_not() {
        let check = |name: &str, value: &str| looks_secret(OsStr::new(name), OsStr::new(value));
        for name in [
            "GITHUB_TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_REGION",
            "OPENAI_API_KEY",
            "PGPASSWORD",
            "SSH_AUTH_SOCK",
            "npm_config_authToken",
            "TESTUDO_TOKEN",
            "MY_APIKEY",
            "DB_PASS",
            "KUBECONFIG",
        ] {
            assert!(check(name, "x"), "{name}");
        }
        assert!(check("INNOCENT", "ghp_0123456789"));
        for name in [
            "PATH",
            "HOME",
            "GIT_AUTHOR_NAME",
            "XDG_SESSION_ID",
            "TOKENIZERS_PARALLELISM",
            "MAX_TOKENS",
            "KEYBOARD",
            "PWD",
            "OLDPWD",
            "HTTP_PROXY",
            "PYTHONPATH",
            "COMPASS",
        ] {
            assert!(!check(name, "x"), "{name}");
        }
    }
}
