//! The parts of a line: indentation, body, line ending. Blanks are spaces and tabs; other white space is content.

/// Lines with their endings: `\n`, `\r\n`, or a `\r` alone.
pub fn split(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = match memchr::memchr2(b'\n', b'\r', rest) {
            None => rest.len(),
            Some(end) if rest[end] == b'\r' && rest.get(end + 1) == Some(&b'\n') => end + 2,
            Some(end) => end + 1,
        };
        let (line, after) = rest.split_at(end);
        rest = after;
        Some(line)
    })
}

/// The ending of a line from [`split`].
pub fn ending_of(line: &[u8]) -> &[u8] {
    match line {
        [.., b'\r', b'\n'] => &line[line.len() - 2..],
        [.., b'\n' | b'\r'] => &line[line.len() - 1..],
        _ => &[],
    }
}

/// The first line ending of a text; `\n` if it has none.
pub fn first_ending<'a>(mut lines: impl Iterator<Item = &'a [u8]>) -> &'a [u8] {
    lines.find_map(|line| Some(ending_of(line)).filter(|ending| !ending.is_empty())).unwrap_or(b"\n")
}

/// A line from [`split`] without its ending.
pub fn body(line: &[u8]) -> &[u8] {
    &line[..line.len() - ending_of(line).len()]
}

pub fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// How many blanks a line begins with.
pub fn indent_of(line: &[u8]) -> usize {
    line.iter().position(|byte| !is_blank(*byte)).unwrap_or(line.len())
}

/// A line without the blanks at its end.
pub fn without_trailing_blanks(line: &[u8]) -> &[u8] {
    let end = line.iter().rposition(|byte| !is_blank(*byte)).map_or(0, |last| last + 1);
    &line[..end]
}
