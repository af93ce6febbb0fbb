//! Splits a text into words for a program that is started without a shell. Only blanks, quotes and backslashes are special.

#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum SplitError {
    #[error("unclosed {} quote", .0.name())]
    Unclosed(Quote),
    #[error("there is no character after the last backslash")]
    Backslash,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Quote {
    Single,
    Double,
}

impl Quote {
    fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Double => "double",
        }
    }
}

/// `'…'` is literal. `"…"` is literal apart from `\"` and `\\`. Outside quotes a backslash escapes the next character.
pub fn words(text: &str) -> Result<Vec<String>, SplitError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' | '\n' | '\r' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next().ok_or(SplitError::Unclosed(Quote::Single))? {
                        '\'' => break,
                        c => word.push(c),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                let unclosed = SplitError::Unclosed(Quote::Double);
                loop {
                    match chars.next().ok_or_else(|| unclosed.clone())? {
                        '"' => break,
                        '\\' => match chars.next().ok_or_else(|| unclosed.clone())? {
                            c @ ('"' | '\\') => word.push(c),
                            c => word.extend(['\\', c]),
                        },
                        c => word.push(c),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(chars.next().ok_or(SplitError::Backslash)?),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_their_users_know_it() {
        let rows: [(&str, &[&str]); 10] = [
            ("", &[]),
            ("  ls  -l ", &["ls", "-l"]),
            (r#"printf "%s|" "a b" 'c' d\ e"#, &["printf", "%s|", "a b", "c", "d e"]),
            ("\"arg\"um'en't  x\ty", &["argument", "x", "y"]),
            (
                "echo a && b | c > f ; x & $HOME * ~",
                &["echo", "a", "&&", "b", "|", "c", ">", "f", ";", "x", "&", "$HOME", "*", "~"],
            ),
            ("a '' \"\"", &["a", "", ""]),
            (r#"a "b\"c\\d\e""#, &["a", r#"b"c\d\e"#]),
            (r"a\'b", &["a'b"]),
            (r"'a\b'", &[r"a\b"]),
            ("a\nb", &["a", "b"]),
        ];
        for (text, expected) in rows {
            assert_eq!(words(text).unwrap(), expected, "{text}");
        }
        assert_eq!(words("echo \"x"), Err(SplitError::Unclosed(Quote::Double)));
        assert_eq!(words("echo 'x"), Err(SplitError::Unclosed(Quote::Single)));
        assert_eq!(words("echo \\"), Err(SplitError::Backslash));
    }
}
