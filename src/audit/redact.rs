//! Takes secrets out of what is written. The rules are those by which variables are kept from commands
//! ([`looks_secret`]), applied to assignments, options and headers in a text; besides, the values of the server's own
//! secrets, passwords in URLs, and tokens that are known by how they begin.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::sync::{LazyLock, Mutex};

use regex::{Captures, Regex};

use crate::base::locks::LockExt;
use crate::base::secret_names::looks_secret;
use crate::base::secret_values;

const GONE: &str = "[redacted]";
/// A shorter value occurs in ordinary text by chance.
const SHORTEST_VALUE: usize = 6;

#[derive(Debug)]
pub struct Redactor {
    values: Vec<String>,
    /// Short texts without a secret. Most texts in a log occur again and again: names, directories, reasons.
    clean: Mutex<HashSet<String>>,
}

const MOST_CLEAN: usize = 256;
const LONGEST_CLEAN: usize = 256;

/// A word as shells write it: parts in quotes, and anything else up to a blank or an operator.
const WORD: &str = r#"(?:'[^']*'|"(?:[^"\\]|\\.)*"|[^\s'"|&;<>()])+"#;

struct Patterns {
    /// `name=value`, `name: value`, `--name value`.
    named: Regex,
    url: Regex,
    header: Regex,
    user: Regex,
    /// What may be a token.
    word: Regex,
    key: Regex,
}

static PATTERNS: LazyLock<Patterns> = LazyLock::new(|| {
    let compile = |text: &str| Regex::new(text).expect("a pattern of ours");
    Patterns {
        named: compile(&format!(
            r#"(?P<before>--?)?(?P<name>[A-Za-z][A-Za-z0-9_.-]*)(?P<between>["']?\s*[=:]\s*|\s+)(?P<value>{WORD})"#
        )),
        url: compile(r#"(?P<before>[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@'"]*:)[^\s/'"]+@"#),
        header: compile(
            r#"(?i)(?P<before>\b(?:proxy-)?authorization["']?\s*[:=]\s*["']?(?:bearer|basic|token|digest)?\s*)[^\s"',;]+"#,
        ),
        user: compile(&format!(r"(?P<before>\s(?:-u|--user)[\s=]?\s*['\x22]?[^\s:'\x22]+:){WORD}")),
        word: compile(r"[A-Za-z0-9_.+/~-]{12,}"),
        key: compile(r"(?s)-----BEGIN[^-]*-----.*?(?:-----END[^-]*-----|$)"),
    }
});

impl Redactor {
    /// `values` are the secrets that this process knows.
    pub fn new(values: Vec<String>) -> Self {
        let mut values: Vec<String> = values.into_iter().filter(|value| value.len() >= SHORTEST_VALUE).collect();
        // A longer one may hold a shorter one.
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        Self { values, clean: Mutex::default() }
    }

    /// The text without its secrets; `None` if there is none in it.
    pub fn redacted(&self, text: &str) -> Option<String> {
        if self.clean.locked().contains(text) {
            return None;
        }
        let redacted = self.without_secrets(text);
        if redacted.is_none() && text.len() <= LONGEST_CLEAN {
            let mut clean = self.clean.locked();
            if clean.len() >= MOST_CLEAN {
                clean.clear();
            }
            clean.insert(text.to_owned());
        }
        redacted
    }

    fn without_secrets(&self, text: &str) -> Option<String> {
        let mut result = Cow::Borrowed(text);
        let mut replace = |change: &dyn Fn(&str) -> Cow<'_, str>| {
            if let Cow::Owned(changed) = change(&result) {
                result = Cow::Owned(changed);
            }
        };
        for value in &self.values {
            replace(&|text| if text.contains(value) { text.replace(value, GONE).into() } else { text.into() });
        }
        let patterns = &*PATTERNS;
        let before = format!("${{before}}{GONE}");
        replace(&|text| replaced(&patterns.key, text, GONE));
        replace(&|text| replaced(&patterns.url, text, &format!("{before}@")));
        replace(&|text| replaced(&patterns.header, text, &before));
        replace(&|text| replaced(&patterns.user, text, &before));
        replace(&|text| named(&patterns.named, text));
        replace(&|text| tokens(&patterns.word, text));
        match result {
            Cow::Owned(changed) if changed != text => Some(changed),
            _ => None,
        }
    }
}

fn replaced<'t>(pattern: &Regex, text: &'t str, by: &str) -> Cow<'t, str> {
    match pattern.replace_all(text, by) {
        Cow::Borrowed(_) => Cow::Borrowed(text),
        owned @ Cow::Owned(_) => owned,
    }
}

fn tokens<'t>(pattern: &Regex, text: &'t str) -> Cow<'t, str> {
    pattern.replace_all(
        text,
        |found: &Captures<'_>| {
            if secret_values::is_secret(&found[0]) { GONE.to_owned() } else { found[0].to_owned() }
        },
    )
}

/// Looks at each name in turn. The value of a name that is no secret is looked at again as a name.
fn named<'t>(pattern: &Regex, text: &'t str) -> Cow<'t, str> {
    let (mut result, mut rest) = (String::new(), text);
    while let Some(found) = pattern.captures(rest) {
        let at = |name: &str| found.name(name).map_or("", |part| part.as_str());
        let (end, value) = (found.name("name").map_or(0, |part| part.end()), found.name("value"));
        match value {
            Some(value) if is_secret(&found, at("name")) && !value.as_str().contains(GONE) => {
                result.push_str(&rest[..value.start()]);
                result.push_str(GONE);
                rest = &rest[value.end()..];
            }
            _ => {
                result.push_str(&rest[..end]);
                rest = &rest[end..];
            }
        }
    }
    if result.is_empty() {
        return Cow::Borrowed(text);
    }
    result.push_str(rest);
    Cow::Owned(result)
}

fn is_secret(found: &Captures<'_>, name: &str) -> bool {
    let part = |name: &str| found.name(name).map_or("", |part| part.as_str());
    let (between, value) = (part("between"), part("value"));
    let is_option = part("before").starts_with("--");
    // Only options take their value after a blank. A variable that is handed on says nothing.
    if (between.trim().is_empty() && !is_option)
        || value.starts_with('$')
        || value.starts_with("\"$")
        || value.starts_with('-')
    {
        return false;
    }
    looks_secret(OsStr::new(&name.replace(['-', '.'], "_")), OsStr::new(value.trim_matches(['\'', '"'])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_go_and_the_rest_stays() {
        let redactor = Redactor::new(vec!["canary-123456".to_owned(), "x".to_owned()]);
        let rows = [
            ("export API_TOKEN=abc123; ls", "export API_TOKEN=[redacted]; ls"),
            ("DB_PASSWORD='a b' ./run --x", "DB_PASSWORD=[redacted] ./run --x"),
            ("login --password hunter2 --user me", "login --password [redacted] --user me"),
            ("login --api-key=hunter2 x", "login --api-key=[redacted] x"),
            ("git clone https://me:pw@example.com/x", "git clone https://me:[redacted]@example.com/x"),
            ("curl -H 'Authorization: Bearer abc.def' x", "curl -H 'Authorization: Bearer [redacted]' x"),
            ("curl -u me:secret https://x", "curl -u me:[redacted] https://x"),
            ("echo ghp_abcdefghijklmnop1234 done", "echo [redacted] done"),
            ("echo canary-123456 x", "echo [redacted] x"),
            (r#"{"password": "p", "a": 1}"#, r#"{"password": [redacted] "a": 1}"#),
            ("a -----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY----- b", "a [redacted] b"),
        ];
        for (text, want) in rows {
            assert_eq!(redactor.redacted(text).as_deref(), Some(want), "{text}");
        }
        let plain =
            ["ls -la", "git commit -m 'token list'", "API_TOKEN=$OTHER run", "cat key file", "make test", "", "a=b:c"];
        for text in plain {
            assert_eq!(redactor.redacted(text), None, "{text}");
        }
    }
}
