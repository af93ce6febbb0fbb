//! Files with one setting per line. A setting that is a credential is left out, with the lines that continue it.

use super::Format;
use super::names::{is_credential, is_credential_name};

pub fn clean(content: &str, format: Format) -> String {
    let mut kept = String::with_capacity(content.len());
    // The indentation of a setting that was left out, while its value goes on.
    let mut skipped: Option<Skipped> = None;
    for line in content.split_inclusive('\n') {
        let text = line.trim_end();
        if let Some(inside) = &mut skipped {
            if inside.goes_on(text) {
                continue;
            }
            skipped = None;
        }
        if is_bare_word(text) {
            continue;
        }
        let setting = Setting::of(text);
        if setting.as_ref().is_some_and(|setting| setting.is_credential(format)) {
            skipped = Some(Skipped { indentation: indentation(text), continued: text.ends_with('\\') });
        } else {
            kept.push_str(line);
        }
    }
    kept
}

struct Skipped {
    indentation: usize,
    /// The last line ended with a backslash.
    continued: bool,
}

impl Skipped {
    fn goes_on(&mut self, text: &str) -> bool {
        let goes_on = self.continued || !text.trim().is_empty() && indentation(text) > self.indentation;
        self.continued = text.ends_with('\\');
        goes_on
    }
}

/// A word on a line of its own is no setting. It may be a token.
fn is_bare_word(text: &str) -> bool {
    let word = text.chars().next().is_some_and(|first| first.is_alphanumeric() || "\"'_+/".contains(first));
    word && !text.contains(['=', ':', ' ', '\t'])
}

fn indentation(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

struct Setting<'a> {
    name: &'a str,
    value: &'a str,
}

impl<'a> Setting<'a> {
    /// A setting that is commented out counts: its credential may still be valid.
    fn of(line: &'a str) -> Option<Self> {
        let text = line.trim_start_matches(['#', ';', '!', ' ', '\t', '-']);
        let colon = || text.match_indices(':').map(|(at, _)| at).find(|at| text[at + 1..].starts_with([' ', '\t']));
        let at_end = || text.ends_with(':').then(|| text.len() - 1);
        // npm and yarn 1 have colons in the names of settings.
        let at = text.find('=').filter(|at| colon().is_none_or(|colon| *at < colon)).or_else(colon).or_else(at_end);
        let at = at.or_else(|| text.find([' ', '\t'])).or_else(|| text.find(':'))?;
        let name = text[..at].trim().trim_matches(['"', '\'']).trim_end_matches("[]");
        Some(Self { name, value: text[at + 1..].trim() })
    }

    fn is_credential(&self, format: Format) -> bool {
        if format == Format::Bundler && self.is_host_of_bundler() {
            return true;
        }
        if self.value.is_empty() { is_credential_name(self.name) } else { is_credential(self.name, self.value) }
    }

    /// Bundler writes the credentials for a host as `BUNDLE_GEMS__EXAMPLE__COM: "user:password"`.
    fn is_host_of_bundler(&self) -> bool {
        let settings = ["MIRROR", "LOCAL", "BUILD", "PLUGINS", "DISABLE", "SUPPRESS", "IGNORE", "GEM"];
        let Some(name) = self.name.strip_prefix("BUNDLE_") else { return false };
        name.contains("__") && !settings.iter().any(|setting| name.starts_with(&format!("{setting}__")))
    }
}
