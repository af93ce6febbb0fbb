//! Which settings are credentials, by their names.

/// If the name of a setting contains one of these, its value is a credential. Compared in lower case and without
/// punctuation, so that `_authToken`, `auth_token` and `auth-token` are the same.
const PARTS: [&str; 13] = [
    "token",
    "password",
    "passwd",
    "passphrase",
    "secret",
    "apikey",
    "accesskey",
    "privatekey",
    "credential",
    "credsstore",
    "credhelpers",
    "authident",
    "authorization",
];
/// Names that only as a whole, or at their end, mean a credential.
const ENDS: [&str; 3] = ["auth", "pwd", "httpheaders"];
const WHOLE: [&str; 2] = ["key", "pass"];

/// Whether a setting of this name and value is a credential.
pub fn is_credential(name: &str, value: &str) -> bool {
    // A switch such as npm's `always-auth`, or a limit in numbers.
    let value = value.trim().trim_matches(['"', '\'']);
    if matches!(value, "true" | "false") {
        return false;
    }
    // curl writes `user = "name:password"`.
    is_credential_name(name) || name.to_ascii_lowercase().ends_with("user") && value.contains(':')
}

pub fn is_credential_name(name: &str) -> bool {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    let last = name.rsplit([':', '.', '/']).next().unwrap_or(name);
    let last: String = last.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    PARTS.iter().any(|part| plain.contains(part))
        || ENDS.iter().any(|end| plain.ends_with(end))
        || WHOLE.contains(&last.as_str())
}
