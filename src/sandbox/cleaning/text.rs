//! Credentials within other text: in URLs, in options of a command line, and tokens that show by their beginning what
//! they are.

use std::sync::LazyLock;

use regex::{Captures, Regex};

/// A credential in the path of a conda channel.
static CHANNEL: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"(://[^\s"'<>]*?)/t/[^/\s"'<>]+/"#).expect("a valid expression"));
/// What the name of a credential inside a value contains.
const WORDS: [&str; 14] = [
    "token",
    "password",
    "passwd",
    "passphrase",
    "secret",
    "apikey",
    "api_key",
    "api-key",
    "accesskey",
    "access_key",
    "access-key",
    "authorization",
    "authident",
    "signature",
];
/// An assignment inside a value: a parameter of a URL, a Java property, an entry of an inline table.
static INNER: LazyLock<Regex> = LazyLock::new(|| {
    let name = format!("[A-Za-z0-9._-]*(?:{})[A-Za-z0-9._-]*", WORDS.join("|"));
    let quoted = r#"[ \t]*[=:][ \t]*(?:"[^"]*"|'[^']*')"#;
    let bare = r#"(?:=|:[ \t]*)[^\s&,;"'}<>]+"#;
    Regex::new(&format!(r#"(?i)([?&;,{{\s"']-?D?{name}["']?)({quoted}|{bare})"#)).expect("a valid expression")
});
/// A header with its scheme and credentials, which have a space between them.
static HEADER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"(?i)(authorization\s*:[ \t]*)[^\s"'][^"'\r\n]*"#).expect("a valid expression"));
/// How tokens of well-known services begin.
const BEGINNINGS: [&str; 15] = [
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "npm_",
    "pypi-",
    "cio",
    "sk-",
    "xox",
    "AKIA",
    "AIza",
    "eyJ",
];
/// Tokens of well-known services.
static TOKENS: LazyLock<Regex> = LazyLock::new(|| {
    let forms = [
        r"gh[pousr]_[A-Za-z0-9]{20,}",
        r"github_pat_[A-Za-z0-9_]{20,}",
        r"glpat-[A-Za-z0-9_-]{16,}",
        r"npm_[A-Za-z0-9]{20,}",
        r"pypi-[A-Za-z0-9_-]{20,}",
        r"cio[A-Za-z0-9]{30,}",
        r"sk-[A-Za-z0-9_-]{20,}",
        r"xox[abeprs]-[A-Za-z0-9-]{10,}",
        r"AKIA[0-9A-Z]{16}",
        r"AIza[A-Za-z0-9_-]{30,}",
        r"eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*",
    ];
    Regex::new(&format!(r"\b(?:{})", forms.join("|"))).expect("a valid expression")
});

/// The expressions are compiled on first use, which takes longer than to clean a file. Most files need none of them.
pub fn clean(text: &str) -> String {
    let mut text = without_users(text);
    if text.contains("/t/") {
        text = CHANNEL.replace_all(&text, "$1/").into_owned();
    }
    let lower = text.to_ascii_lowercase();
    if lower.contains("authorization") {
        text = HEADER.replace_all(&text, "$1").into_owned();
    }
    if WORDS.iter().any(|word| lower.contains(word)) {
        text = INNER.replace_all(&text, without_value).into_owned();
    }
    if BEGINNINGS.iter().any(|beginning| text.contains(beginning)) {
        text = TOKENS.replace_all(&text, "").into_owned();
    }
    text
}

/// Takes user and password out of URLs. For http a user alone is a credential too, because registries take a token there.
fn without_users(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (head, tail) = rest.split_at(at + 3);
        kept.push_str(head);
        let end = tail.find(|c: char| c.is_whitespace() || "/\"'<>".contains(c)).unwrap_or(tail.len());
        let user = tail[..end].rfind('@').unwrap_or(0);
        let web =
            head[..at].to_ascii_lowercase().ends_with("http") || head[..at].to_ascii_lowercase().ends_with("https");
        rest = if user > 0 && (web || tail[..user].contains(':')) { &tail[user + 1..] } else { tail };
    }
    kept + rest
}

fn without_value(found: &Captures<'_>) -> String {
    let value = found[2].trim_start_matches([' ', '\t', '=', ':']);
    let between = &found[2][..found[2].len() - value.len()];
    let left = match value {
        "true" | "false" => value,
        _ if value.starts_with('"') => "\"\"",
        _ if value.starts_with('\'') => "''",
        _ => "",
    };
    format!("{}{between}{left}", &found[1])
}
