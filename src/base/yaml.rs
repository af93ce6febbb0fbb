//! Texts as YAML values. What is not obviously plain is written as JSON writes it, which YAML understands too.

use std::fmt::Write;

/// A text on one line: plain where nobody could read it as anything but this text, else in quotes.
pub fn scalar(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-');
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
    let words = ["true", "false", "yes", "no", "on", "off", "null", "y", "n"];
    let is_plain = begins && text.chars().all(plain) && !words.contains(&text.to_lowercase().as_str());
    if is_plain { text.to_owned() } else { quoted(text) }
}

/// In the quotes of JSON. What JSON leaves as it is and YAML does not print is escaped too.
fn quoted(text: &str) -> String {
    let json = serde_json::Value::from(text).to_string();
    if json.chars().all(is_shown) {
        return json;
    }
    json.chars().fold(String::with_capacity(json.len()), |mut quoted, c| {
        if is_shown(c) {
            quoted.push(c);
        } else {
            let _ = write!(quoted, "\\u{:04x}", u32::from(c));
        }
        quoted
    })
}

/// A text below a key at the left margin: lines as they are where a block can hold them, else as a scalar.
pub fn block(text: &str) -> String {
    let Some(body) = text.strip_suffix('\n').or_else(|| text.contains('\n').then_some(text)) else {
        return scalar(text);
    };
    // Indentation at the start and empty lines at either end have a meaning of their own in a block.
    let has_edges = body.starts_with([' ', '\t', '\n']) || body.ends_with('\n') || body.is_empty();
    if has_edges || !text.chars().all(|c| c == '\n' || is_shown(c)) {
        return scalar(text);
    }
    let mut block = String::with_capacity(text.len() + text.len() / 8);
    block.push_str(if text.ends_with('\n') { "|" } else { "|-" });
    for line in body.split('\n') {
        let _ = write!(block, "\n{}{line}", if line.is_empty() { "" } else { "  " });
    }
    block
}

/// Whether a character stands for itself.
fn is_shown(c: char) -> bool {
    c == '\t' || !(c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn texts_are_as_plain_as_they_can_be() {
        for (text, want) in [
            ("", "\"\""),
            ("hello", "hello"),
            ("true", "\"true\""),
            ("42", "\"42\""),
            ("42\n", "|\n  42"),
            ("a\n\nb", "|-\n  a\n\n  b"),
            ("\ta\n", "\"\\ta\\n\""),
            ("a\r\n", "\"a\\r\\n\""),
            ("\n", "\"\\n\""),
            ("a\n\n", "\"a\\n\\n\""),
        ] {
            assert_eq!(block(text), want, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn a_reader_of_yaml_gets_the_same_texts(text in "(?s)([ \\n\\t#:'\"|>a-d-]|.){0,40}", other in "(?s).{0,9}") {
            let page = format!("one: {}\ntwo: {}\nthree: {}\n", block(&text), scalar(&text), block(&other));
            let read: serde_json::Value = serde_saphyr::from_str(&page).map_err(|error| {
                TestCaseError::fail(format!("{error}: {page:?}"))
            })?;
            prop_assert_eq!(&read["one"], &text, "{:?}", page);
            prop_assert_eq!(&read["two"], &text, "{:?}", page);
            prop_assert_eq!(&read["three"], &other, "{:?}", page);
        }
    }
}
