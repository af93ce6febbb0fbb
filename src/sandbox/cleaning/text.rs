//! Credentials within other text: in URLs, in options of a command line, and tokens that show by their beginning what
//! they are.

use std::sync::LazyLock;

use regex::{Captures, Regex};

/// User and password of a URL. For http a user alone is a credential too, because registries take a token there.
static USER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"([A-Za-z][A-Za-z0-9+.-]*://)([^/@\s"'<>]+)@"#).expect("a valid expression"));
/// A credential in the path of a conda channel.
static CHANNEL: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"(://[^\s"'<>]*?)/t/[^/\s"'<>]+/"#).expect("a valid expression"));
/// An assignment inside a value: a parameter of a URL, a Java property, an entry of an inline table.
static INNER: LazyLock<Regex> = LazyLock::new(|| {
    let name = "[A-Za-z0-9._-]*(?:token|password|passwd|passphrase|secret|api[_-]?key|access[_-]?key|authorization|authident|signature)[A-Za-z0-9._-]*";
    let quoted = r#"[ \t]*[=:][ \t]*(?:"[^"]*"|'[^']*')"#;
    let bare = r#"(?:=|:[ \t]*)[^\s&,;"'}<>]+"#;
    Regex::new(&format!(r#"(?i)([?&;,{{\s"']-?D?{name}["']?)({quoted}|{bare})"#)).expect("a valid expression")
});
/// A header with its scheme and credentials, which have a space between them.
static HEADER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"(?i)(authorization\s*:[ \t]*)[^\s"'][^"'\r\n]*"#).expect("a valid expression"));
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

pub fn clean(text: &str) -> String {
    let text = USER.replace_all(text, |found: &Captures<'_>| {
        let harmless = !found[1].to_ascii_lowercase().starts_with("http") && !found[2].contains(':');
        if harmless { found[0].to_owned() } else { found[1].to_owned() }
    });
    let text = CHANNEL.replace_all(&text, "$1/");
    let text = HEADER.replace_all(&text, "$1");
    let text = INNER.replace_all(&text, |found: &Captures<'_>| {
        let value = found[2].trim_start_matches([' ', '\t', '=', ':']);
        let between = &found[2][..found[2].len() - value.len()];
        let left = match value {
            "true" | "false" => value,
            _ if value.starts_with('"') => "\"\"",
            _ if value.starts_with('\'') => "''",
            _ => "",
        };
        format!("{}{between}{left}", &found[1])
    });
    TOKENS.replace_all(&text, "").into_owned()
}
