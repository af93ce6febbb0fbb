//! Finds the end of a bracketed or quoted part of shell text: `$(…)`, `${…}`, `$((…))`, backticks, quotes.
//!
//! All positions are byte offsets. All delimiters are ASCII, so slices between them are valid UTF-8.

/// The offset of the quote that closes a single-quoted part whose inside starts at `from`.
pub fn single_quote(bytes: &[u8], from: usize) -> Option<usize> {
    memchr::memchr(b'\'', bytes.get(from..)?).map(|found| from + found)
}

/// As [`single_quote`], but a backslash escapes the next character: `$'…'` and backticks.
pub fn escaped(bytes: &[u8], from: usize, end: u8) -> Option<usize> {
    let mut at = from;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            byte if *byte == end => return Some(at),
            _ => at += 1,
        }
    }
    None
}

/// The offset of the closing double quote.
pub fn double_quote(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(byte) = bytes.get(at) {
        at = match byte {
            b'"' => return Some(at),
            b'\\' => at + 2,
            b'`' => escaped(bytes, at + 1, b'`')? + 1,
            b'$' => dollar(bytes, at)?,
            _ => at + 1,
        };
    }
    None
}

/// The offset behind the expansion that the `$` at `at` begins; behind the `$` if it begins none.
fn dollar(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at + 1) {
        Some(b'(') => Some(parenthesis(bytes, at + 2)? + 1),
        Some(b'{') => Some(brace(bytes, at + 2)? + 1),
        _ => Some(at + 1),
    }
}

/// The offset of the `}` that closes a `${` whose inside starts at `from`.
pub fn brace(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(byte) = bytes.get(at) {
        at = match byte {
            b'}' => return Some(at),
            b'\\' => at + 2,
            b'\'' => single_quote(bytes, at + 1)? + 1,
            b'"' => double_quote(bytes, at + 1)? + 1,
            b'`' => escaped(bytes, at + 1, b'`')? + 1,
            b'$' => dollar(bytes, at)?,
            _ => at + 1,
        };
    }
    None
}

/// The offset of the `)` that closes a `$(`, `<(` or `(` whose inside starts at `from`. Comments and here-documents are
/// skipped, because brackets in them mean nothing.
pub fn parenthesis(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    let mut depth = 0_usize;
    let mut documents: Vec<(Vec<u8>, bool)> = Vec::new();
    while let Some(byte) = bytes.get(at) {
        at = match byte {
            b')' if depth == 0 => return Some(at),
            b')' => {
                depth -= 1;
                at + 1
            }
            b'(' => {
                depth += 1;
                at + 1
            }
            b'\\' => at + 2,
            b'\'' => single_quote(bytes, at + 1)? + 1,
            b'"' => double_quote(bytes, at + 1)? + 1,
            b'`' => escaped(bytes, at + 1, b'`')? + 1,
            b'$' if bytes.get(at + 1) == Some(&b'\'') => escaped(bytes, at + 2, b'\'')? + 1,
            b'$' => dollar(bytes, at)?,
            b'#' if starts_word(bytes, at) => memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |end| at + end),
            b'<' if bytes[at..].starts_with(b"<<<") => at + 3,
            b'<' if bytes[at..].starts_with(b"<<") => {
                let (delimiter, tabs, behind) = delimiter(bytes, at + 2)?;
                documents.push((delimiter, tabs));
                behind
            }
            b'\n' => {
                let mut behind = at + 1;
                for (delimiter, tabs) in documents.drain(..) {
                    behind = document(bytes, behind, &delimiter, tabs)?;
                }
                behind
            }
            _ => at + 1,
        };
    }
    None
}

fn starts_word(bytes: &[u8], at: usize) -> bool {
    at.checked_sub(1).is_none_or(|before| matches!(bytes[before], b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'('))
}

/// The delimiter of a here-document without its quotes, whether bash strips leading tabs, and the offset behind it.
fn delimiter(bytes: &[u8], from: usize) -> Option<(Vec<u8>, bool, usize)> {
    let tabs = bytes.get(from) == Some(&b'-');
    let mut at = from + usize::from(tabs);
    while matches!(bytes.get(at), Some(b' ' | b'\t')) {
        at += 1;
    }
    let mut delimiter = Vec::new();
    while let Some(byte) = bytes.get(at) {
        match byte {
            b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>' => break,
            b'\'' | b'"' => {
                let end = escaped(bytes, at + 1, *byte)?;
                delimiter.extend_from_slice(&bytes[at + 1..end]);
                at = end + 1;
            }
            b'\\' => {
                delimiter.push(*bytes.get(at + 1)?);
                at += 2;
            }
            byte => {
                delimiter.push(*byte);
                at += 1;
            }
        }
    }
    (!delimiter.is_empty()).then_some((delimiter, tabs, at))
}

/// The offset of the newline behind the last line of a here-document.
fn document(bytes: &[u8], from: usize, delimiter: &[u8], tabs: bool) -> Option<usize> {
    let mut at = from;
    loop {
        let end = memchr::memchr(b'\n', bytes.get(at..)?).map_or(bytes.len(), |end| at + end);
        let line = &bytes[at..end];
        let line = if tabs { line.trim_ascii_start() } else { line };
        if line == delimiter {
            return Some(end);
        }
        if end == bytes.len() {
            return None;
        }
        at = end + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_found_past_everything_that_looks_like_one() {
        let rows = [
            ("ls) x", Some("ls")),
            ("echo ')' \")\" \\) $(pwd) `)`) x", Some("echo ')' \")\" \\) $(pwd) `)`")),
            ("ls # )\n) x", Some("ls # )\n")),
            ("cat <<'E'\n it's (\nE\n) x", Some("cat <<'E'\n it's (\nE\n")),
            ("cat <<-E\n\t)\n\tE\n) x", Some("cat <<-E\n\t)\n\tE\n")),
            ("echo a#b) x", Some("echo a#b")),
            ("ls", None),
        ];
        for (text, inside) in rows {
            assert_eq!(parenthesis(text.as_bytes(), 0).map(|end| &text[..end]), inside, "{text}");
        }
    }
}
