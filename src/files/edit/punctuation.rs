//! Typographic punctuation: quotes, dashes, ellipses and spaces that look like the plain ones on a keyboard.

use std::collections::BTreeSet;
use std::ops::Range;

/// Every such character begins with one of these.
const FIRST_BYTES: [u8; 2] = [0xC2, 0xE2];

/// Whether a text can have such characters. Quick, and without one nothing has to be made plain.
pub fn may_have(text: &[u8]) -> bool {
    memchr::memchr2(FIRST_BYTES[0], FIRST_BYTES[1], text).is_some()
}

/// The plain form of a typographic character.
pub fn plain(c: char) -> Option<&'static str> {
    Some(match c {
        '\u{2018}'..='\u{201B}' | '\u{2032}' => "'",
        '\u{201C}'..='\u{201F}' | '\u{2033}' => "\"",
        '\u{2010}'..='\u{2015}' | '\u{2212}' => "-",
        '\u{2026}' => "...",
        '\u{A0}' | '\u{2002}'..='\u{200A}' | '\u{202F}' => " ",
        _ => return None,
    })
}

/// Emits every stretch of the text, with typographic characters made plain, beside the bytes it came from.
pub fn each_plain(text: &[u8], mut emit: impl FnMut(&[u8], Range<usize>)) {
    let (mut start, mut at) = (0, 0);
    while let Some(next) = memchr::memchr2(FIRST_BYTES[0], FIRST_BYTES[1], &text[at..]) {
        at += next;
        let length = if text[at] == 0xC2 { 2 } else { 3 };
        let character = text.get(at..at + length).and_then(|bytes| std::str::from_utf8(bytes).ok()?.chars().next());
        let Some(plain) = character.and_then(plain) else {
            at += 1;
            continue;
        };
        if start < at {
            emit(&text[start..at], start..at);
        }
        emit(plain.as_bytes(), at..at + length);
        at += length;
        start = at;
    }
    if start < text.len() {
        emit(&text[start..], start..text.len());
    }
}

/// A text with typographic characters made plain.
pub fn made_plain(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    each_plain(text, |piece, _| plain.extend_from_slice(piece));
    plain
}

/// The forms of each kind of character in which the file differs from the agent's text.
#[derive(Debug)]
pub struct FileForms {
    kinds: Vec<(&'static str, Vec<String>)>,
}

impl FileForms {
    pub fn of(old: &str, file: &str) -> Self {
        let kinds = ["'", "\"", "-", "..."].into_iter().filter_map(|kind| {
            let used = forms(file, kind);
            (!used.is_empty() && used != forms(old, kind)).then_some((kind, used))
        });
        Self { kinds: kinds.collect() }
    }

    /// Writes new text with the file's forms.
    pub fn apply(&self, new: &str) -> String {
        let mut text = new.to_owned();
        for (kind, used) in &self.kinds {
            let mut styled = String::new();
            let mut rest = text.as_str();
            while let Some(c) = rest.chars().next() {
                let length = if rest.starts_with(kind) { kind.len() } else { c.len_utf8() };
                let of_kind = rest.starts_with(kind) || plain(c) == Some(kind);
                match of_kind.then(|| choose(used, &styled)).flatten() {
                    Some(form) => styled.push_str(&form),
                    None => styled.push_str(&rest[..length]),
                }
                rest = &rest[length..];
            }
            text = styled;
        }
        text
    }
}

/// The forms of a kind of character that occur in a text, in order of their code points.
fn forms(text: &str, kind: &str) -> Vec<String> {
    let typographic: BTreeSet<char> = text.chars().filter(|c| plain(*c) == Some(kind)).collect();
    let plain = text.contains(kind).then(|| kind.to_owned());
    plain.into_iter().chain(typographic.into_iter().map(String::from)).collect()
}

/// The form to write after `before`. If the file uses one form, it is that form. Of a pair of quotes, the opening one goes to
/// the start of a word and the closing one elsewhere. Any other mixture is not a style, and nothing is changed.
fn choose(used: &[String], before: &str) -> Option<String> {
    match used {
        [only] => Some(only.clone()),
        [open, close] if [("‘", "’"), ("“", "”")].contains(&(open, close)) => {
            let opens = before.chars().next_back().is_none_or(|c| c.is_whitespace() || "([{-–—".contains(c));
            Some(if opens { open.clone() } else { close.clone() })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_text_follows_the_file() {
        let rows = [
            // new, old, file, result
            ("say \"bye\"", "say \"hi\"", "say “hi”", "say “bye”"),
            ("don't", "can't", "can’t", "don’t"),
            ("a - b", "a - c", "a — c", "a — b"),
            ("wait...", "stop...", "stop…", "wait…"),
            ("“x”", "“y”", "\"y\"", "\"x\""),
            ("a \"b\"", "a", "a", "a \"b\""),
            ("'x' \"y\"", "'a' \"b\"", "‘a’ \"b\"", "‘x’ \"y\""),
        ];
        for (new, old, file, want) in rows {
            assert_eq!(FileForms::of(old, file).apply(new), want, "{new} for {old} in {file}");
        }
    }
}
