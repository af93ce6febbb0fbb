//! Which variables look like secrets. Commands do not get them, and nothing that is kept shows them.
//!
//! Three rules: the value is a secret whatever the name ([`secret_values`]); a word of the name says that it is one; or a
//! word hints at it and the value looks random.

use std::ffi::OsStr;

use super::secret_values;

/// Words of a name, as `_` separates them, that say what the value is.
const WORDS: [&str; 31] = [
    "TOKEN",
    "SECRET",
    "SECRETS",
    "PASSWORD",
    "PASSWORDS",
    "PASSWD",
    "PASS",
    "PASSPHRASE",
    "PASSCODE",
    "PSWD",
    "PWD",
    "PW",
    "CREDENTIAL",
    "CREDENTIALS",
    "CREDS",
    "KEY",
    "KEYS",
    "PRIVKEY",
    "AUTHKEY",
    "AUTH",
    "COOKIE",
    "COOKIES",
    "JWT",
    "BEARER",
    "PAT",
    "PSK",
    "OTP",
    "TOTP",
    "HMAC",
    "MNEMONIC",
    "PEPPER",
];
/// Parts of a name, for names without underscores.
const PARTS: [&str; 18] = [
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "APIKEY",
    "SECRET",
    "CREDENTIAL",
    "AUTHTOKEN",
    "ACCESSTOKEN",
    "REFRESHTOKEN",
    "PRIVATEKEY",
    "PRIVKEY",
    "AUTHKEY",
    "ACCESSKEY",
    "SIGNINGKEY",
    "ENCRYPTIONKEY",
    "CONNECTIONSTRING",
    "CONNECTION_STRING",
    "CONN_STR",
];
/// Words that only hint at a secret. The value decides.
const HINTS: [&str; 15] = [
    "SESSION",
    "SESSIONS",
    "SID",
    "TOKENS",
    "SEED",
    "SIGNATURE",
    "LICENSE",
    "LICENCE",
    "ACCESS",
    "PRIVATE",
    "API",
    "LOGIN",
    "HEADER",
    "HEADERS",
    "SALT",
];
/// Words for an address that is a secret. Without an address in the value, the name means something else.
const ADDRESSES: [&str; 3] = ["DSN", "WEBHOOK", "WEBHOOKS"];
/// A name that ends in one of these tells something about a secret: `TOKEN_TTL`, `PASSWORD_STORE_DIR`, `SSH_KEY_TYPE`.
const ABOUT: [&str; 42] = [
    "ALGORITHM",
    "BACKEND",
    "COUNT",
    "DIR",
    "DIRECTORY",
    "DISABLED",
    "DOMAIN",
    "ENABLED",
    "EXPIRES",
    "EXPIRY",
    "FILE",
    "FORMAT",
    "HELPER",
    "HOST",
    "ISSUER",
    "LENGTH",
    "LIFETIME",
    "LIMIT",
    "METHOD",
    "MODE",
    "NAME",
    "PATH",
    "POLICY",
    "PORT",
    "PREFIX",
    "PROMPT",
    "PROVIDER",
    "REALM",
    "REQUIRED",
    "ROTATION",
    "SERVICE",
    "SIZE",
    "STORE",
    "SUFFIX",
    "TIMEOUT",
    "TTL",
    "TYPE",
    "URI",
    "URL",
    "USAGE",
    "USER",
    "VERSION",
];
/// A key or checksum with one of these words is meant to be known.
const PUBLIC: [&str; 9] =
    ["PUBLIC", "PUB", "PUBLISHABLE", "FINGERPRINT", "CHECKSUM", "DIGEST", "SHA1", "SHA256", "SHA512"];
/// Prefixes of providers. Half of these variables are secret, and the rest are useless without the secret. Git's settings
/// in variables hold whole headers.
const PREFIXES: [&str; 6] = ["AWS_", "AZURE_", "ARM_", "VAULT_", "OP_SESSION", "GIT_CONFIG_VALUE_"];
/// Variables that lead to agents, daemons and clusters, which act with the user's rights.
const NAMES: [&str; 12] = [
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "GPG_AGENT_INFO",
    "GNOME_KEYRING_CONTROL",
    "DOCKER_HOST",
    "DOCKER_CONFIG",
    "CONTAINER_HOST",
    "KUBECONFIG",
    "XAUTHORITY",
    "NETRC",
    "BOTO_CONFIG",
    "CLOUDSDK_CONFIG",
];
/// Ordinary variables that have such a word.
const ORDINARY: [&str; 4] = ["PWD", "OLDPWD", "GPG_KEY", "STARSHIP_SESSION_KEY"];

/// Whether a variable should be treated as a secret.
pub fn looks_secret(name: &OsStr, value: &OsStr) -> bool {
    let (name, value) = (name.to_string_lossy().to_ascii_uppercase(), value.to_string_lossy());
    if NAMES.contains(&name.as_str()) || PREFIXES.iter().any(|prefix| name.starts_with(prefix)) {
        return true;
    }
    secret_values::is_secret(&value) || name_says_so(&name, &value)
}

fn name_says_so(name: &str, value: &str) -> bool {
    let words: Vec<&str> = name.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    let any = |list: &[&str]| words.iter().any(|word| list.contains(word));
    if ORDINARY.contains(&name) || any(&PUBLIC) || is_switch(value) {
        return false;
    }
    let is_about = words.last().is_some_and(|last| ABOUT.contains(last));
    let is_named = words.iter().any(|word| is_word(word, value)) || PARTS.iter().any(|part| name.contains(part));
    if is_named && !is_about {
        return true;
    }
    if any(&ADDRESSES) {
        return value.contains("://") || value.contains('=');
    }
    (is_named || any(&HINTS) && !is_about) && (secret_values::is_random(value) || is_phrase(value))
}

/// A word that says what the value is, also where it is written together with another: `DBPASS`, `ADMINPWD`, `NPMTOKEN`.
fn is_word(word: &str, value: &str) -> bool {
    const OTHER_WORDS: [&str; 6] = ["ASKPASS", "BYPASS", "COMPASS", "ENCOMPASS", "SURPASS", "OLDPWD"];
    if word.ends_with("PWD") && value.starts_with('/') {
        // The name of a directory: "print working directory".
        return false;
    }
    let ends = ["TOKEN", "PASS", "PWD"].iter().any(|end| word.ends_with(end));
    WORDS.contains(&word) || ends && !OTHER_WORDS.contains(&word)
}

/// A value that switches something on or off is no secret, whatever the name.
fn is_switch(value: &str) -> bool {
    let switches = ["", "0", "1", "true", "false", "yes", "no", "on", "off", "none", "auto"];
    switches.iter().any(|switch| value.eq_ignore_ascii_case(switch))
}

/// The words that a wallet is made from: twelve and more, in small letters.
fn is_phrase(value: &str) -> bool {
    let mut words = value.split(' ');
    value.split(' ').count() >= 12
        && words.all(|word| (3..=8).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_lowercase()))
}

#[cfg(test)]
#[path = "secret_names_tests.rs"]
mod tests;
