//! Typographic punctuation: quotes, dashes, ellipses and spaces that look like the plain ones on a keyboard.

use std::ops::Range;

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
    let mut start = 0;
    let mut at = 0;
    while at < text.len() {
        // Every such character begins with one of two bytes.
        let length = match text[at] {
            0xC2 => 2,
            0xE2 => 3,
            _ => 0,
        };
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

/// Writes `new` in the file's style: where `old` and the file have different forms of a character, `new` gets the file's.
pub fn in_file_style(new: &str, old: &str, file: &str) -> String {
    let mut text = new.to_owned();
    for class in ["'", "\"", "-", "..."] {
        let (written, used) = (forms(old, class), forms(file, class));
        if written == used || used.is_empty() {
            continue;
        }
        let mut styled = String::new();
        let mut rest = text.as_str();
        while let Some(c) = rest.chars().next() {
            let length = if rest.starts_with(class) { class.len() } else { c.len_utf8() };
            let of_class = rest.starts_with(class) || plain(c) == Some(class);
            match (of_class, choose(&used, &styled)) {
                (true, Some(form)) => styled.push_str(&form),
                _ => styled.push_str(&rest[..length]),
            }
            rest = &rest[length..];
        }
        text = styled;
    }
    text
}

/// The forms of a character class that occur in a text, in order of their code points.
fn forms(text: &str, class: &str) -> Vec<String> {
    let mut found: Vec<String> = text.chars().filter(|c| plain(*c) == Some(class)).map(String::from).collect();
    if text.contains(class) {
        found.push(class.to_owned());
    }
    found.sort();
    found.dedup();
    found
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
            assert_eq!(in_file_style(new, old, file), want, "{new} for {old} in {file}");
        }
    }
}
