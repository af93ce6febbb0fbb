//! Brace expressions: `{a,b}` and `{1..3}`. As in bash, they are expanded in the source text, before anything else.

use super::extent;

/// The most words that one word may become.
const MOST: usize = 256;

/// The words that a word becomes; the word itself if there is nothing to expand. `None` if there are too many, or if the
/// form is not supported.
pub fn expand(raw: &str) -> Option<Vec<String>> {
    let Some((start, end, parts)) = first(raw) else { return Some(vec![raw.to_owned()]) };
    let (before, after) = (&raw[..start], &raw[end + 1..]);
    let mut words = Vec::new();
    for part in parts? {
        // The text before has no brace expression. The part and the text behind may have some.
        for word in expand(&format!("{part}{after}"))? {
            words.push(format!("{before}{word}"));
            if words.len() > MOST {
                return None;
            }
        }
    }
    Some(words)
}

type Parts = Option<Vec<String>>;

/// The first unquoted brace expression: its offsets and its parts.
fn first(raw: &str) -> Option<(usize, usize, Parts)> {
    let bytes = raw.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'{'
            && let Some((end, commas)) = matching(bytes, at + 1)
        {
            let inside = &raw[at + 1..end];
            if !commas.is_empty() {
                let edges = [at].into_iter().chain(commas.iter().copied());
                let ends = commas.iter().copied().chain([end]);
                let parts = edges.zip(ends).map(|(from, to)| raw[from + 1..to].to_owned()).collect();
                return Some((at, end, Some(parts)));
            }
            if inside.contains("..") {
                return Some((at, end, sequence(inside)));
            }
        }
        at = skip(bytes, at)?;
    }
    None
}

/// The closing brace of an expression, and the commas that belong to it.
fn matching(bytes: &[u8], from: usize) -> Option<(usize, Vec<usize>)> {
    let (mut at, mut depth, mut commas) = (from, 0_usize, Vec::new());
    while at < bytes.len() {
        match bytes[at] {
            b'{' => depth += 1,
            b'}' if depth == 0 => return Some((at, commas)),
            b'}' => depth -= 1,
            b',' if depth == 0 => commas.push(at),
            _ => {}
        }
        at = skip(bytes, at)?;
    }
    None
}

/// The offset behind one character, a quoted part, or an expansion.
fn skip(bytes: &[u8], at: usize) -> Option<usize> {
    Some(match bytes[at] {
        b'\\' => at + 2,
        b'\'' => extent::single_quote(bytes, at + 1)? + 1,
        b'"' => extent::double_quote(bytes, at + 1)? + 1,
        b'`' => extent::escaped(bytes, at + 1, b'`')? + 1,
        b'$' if bytes.get(at + 1) == Some(&b'{') => extent::brace(bytes, at + 2)? + 1,
        b'$' if bytes.get(at + 1) == Some(&b'(') => extent::parenthesis(bytes, at + 2)? + 1,
        b'$' if bytes.get(at + 1) == Some(&b'\'') => extent::escaped(bytes, at + 2, b'\'')? + 1,
        _ => at + 1,
    })
}

/// `1..5` or `a..e`. Steps and leading zeros are not supported.
fn sequence(inside: &str) -> Parts {
    let (from, to) = inside.split_once("..")?;
    let plain = |text: &str| text == "0" || !text.trim_start_matches('-').starts_with('0');
    let letters = |text: &str| text.len() == 1 && text.bytes().all(|byte| byte.is_ascii_lowercase());
    let ordered = |from: i64, to: i64| -> Vec<i64> {
        if from <= to { (from..=to).collect() } else { (to..=from).rev().collect() }
    };
    if let (Ok(from), Ok(to)) = (from.parse::<i32>(), to.parse::<i32>()) {
        let fits = plain(&from.to_string()) && from.abs_diff(to) as usize <= MOST;
        let same = from.to_string() == inside.split("..").next()? && to.to_string() == inside.rsplit("..").next()?;
        return (fits && same).then(|| ordered(from.into(), to.into()).iter().map(i64::to_string).collect());
    }
    if letters(from) && letters(to) {
        let (from, to) = (i64::from(from.as_bytes()[0]), i64::from(to.as_bytes()[0]));
        let letter = |code: &i64| u8::try_from(*code).ok().map(|byte| char::from(byte).to_string());
        return ordered(from, to).iter().map(letter).collect();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::expand;

    #[test]
    fn braces_expand_as_in_bash() {
        let rows: [(&str, &[&str]); 11] = [
            ("a", &["a"]),
            ("{a,b}.txt", &["a.txt", "b.txt"]),
            ("x{a,b}y{1,2}", &["xay1", "xay2", "xby1", "xby2"]),
            ("{a,{b,c}}", &["a", "b", "c"]),
            ("{1..3}", &["1", "2", "3"]),
            ("{c..a}", &["c", "b", "a"]),
            ("{}", &["{}"]),
            ("{a}", &["{a}"]),
            ("'{a,b}'", &["'{a,b}'"]),
            ("${x:-{a,b}}", &["${x:-{a,b}}"]),
            ("{pwn,}", &["pwn", ""]),
        ];
        for (raw, words) in rows {
            assert_eq!(expand(raw).unwrap(), words, "{raw}");
        }
        assert_eq!(expand("{1..100000}"), None);
        assert_eq!(expand("{01..10}"), None);
    }
}
