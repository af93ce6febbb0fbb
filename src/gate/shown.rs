//! How a question shows text that an agent wrote. The agent must not be able to write a part of the question itself: every
//! row of its text is behind a bar, nothing in it is invisible, and it cannot push the rest of the question out of sight.

use crate::base::invisible::made_visible;

/// The most rows of a text. A longer one is shown by its beginning and its end.
const MOST_ROWS: usize = 60;
const HEAD: usize = 35;
const TAIL: usize = 20;
/// A terminal breaks longer rows, and the second part would have no bar.
const WIDEST: usize = 100;
/// So much of the beginning and of the end of a long text is looked at.
const MOST_BYTES: usize = 16 * 1024;

/// Every row of the text behind `│ `.
pub fn behind_bars(text: &str) -> String {
    let (start, end) = if text.len() > 2 * MOST_BYTES {
        let (head, tail) = (text.floor_char_boundary(MOST_BYTES), text.ceil_char_boundary(text.len() - MOST_BYTES));
        (rows(&text[..head]), rows(&text[tail..]))
    } else {
        (rows(text), Vec::new())
    };
    let cut = !end.is_empty() || start.len() > MOST_ROWS;
    let shown: Vec<String> = if cut {
        let last = if end.is_empty() { &start } else { &end };
        let tail = &last[last.len().saturating_sub(TAIL)..];
        let note = "⋮ (the middle is not shown)".to_owned();
        start.iter().take(HEAD).cloned().chain([note]).chain(tail.iter().cloned()).collect()
    } else {
        start
    };
    shown.iter().flat_map(|row| ["│ ", row, "\n"]).collect()
}

/// The text in one row of at most so many characters.
pub fn in_one_row(text: &str, longest: usize) -> String {
    let visible = visible_row(text);
    if visible.chars().count() <= longest {
        return visible;
    }
    visible.chars().take(longest - 1).chain(['…']).collect()
}

/// The size of a text for people: `52 lines, 1.8 KB`.
pub fn size(text: &str) -> String {
    let lines = text.lines().count();
    let s = if lines == 1 { "" } else { "s" };
    let bytes = match text.len() {
        bytes @ ..1024 => format!("{bytes} B"),
        #[expect(clippy::cast_precision_loss, reason = "one digit behind the point is shown")]
        bytes if bytes < 1024 * 1024 => format!("{:.1} KB", bytes as f64 / 1024.0),
        #[expect(clippy::cast_precision_loss, reason = "one digit behind the point is shown")]
        bytes => format!("{:.1} MB", bytes as f64 / 1024.0 / 1024.0),
    };
    format!("{lines} line{s}, {bytes}")
}

fn visible_row(text: &str) -> String {
    made_visible(text).replace('\n', "<U+000A>").replace('\t', "    ")
}

/// The lines of a text, the long ones broken. Many empty lines become one row.
fn rows(text: &str) -> Vec<String> {
    let mut rows = Vec::new();
    let mut empty = 0;
    for line in text.lines() {
        if line.trim().is_empty() {
            empty += 1;
            continue;
        }
        push_empty(&mut rows, &mut empty);
        let mut prefix = "";
        for part in broken(&visible_row(line)) {
            rows.push(format!("{prefix}{part}"));
            prefix = "↳ ";
        }
    }
    push_empty(&mut rows, &mut empty);
    rows
}

fn push_empty(rows: &mut Vec<String>, empty: &mut usize) {
    match std::mem::take(empty) {
        count @ 0..3 => rows.extend((0..count).map(|_| String::new())),
        count => rows.push(format!("({count} empty lines)")),
    }
}

/// The row in parts that fit a terminal. Characters beyond ASCII may take two columns.
fn broken(row: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut width = 0;
    for c in row.chars() {
        let columns = if c.is_ascii() { 1 } else { 2 };
        if width + columns > WIDEST {
            parts.push(String::new());
            width = 0;
        }
        width += columns;
        parts.last_mut().unwrap_or_else(|| unreachable!("there is a first part")).push(c);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_behind_a_bar_and_nothing_is_invisible() {
        assert_eq!(behind_bars("ls\u{202e}\r\u{1b}[2K\n\nrm x"), "│ ls<U+202E><U+000D><U+001B>[2K\n│ \n│ rm x\n");
        assert_eq!(behind_bars("a\u{2028}b\u{85}c"), "│ a<U+2028>b<U+0085>c\n");
        assert_eq!(behind_bars(&format!("ls{}rm", "\n".repeat(45))), "│ ls\n│ (44 empty lines)\n│ rm\n");
        let long = behind_bars(&format!("ls{}May this run?", " ".repeat(150)));
        assert!(long.lines().all(|row| row.starts_with("│ ") && row.chars().count() <= WIDEST + 4), "{long}");
    }

    #[test]
    fn a_long_text_is_shown_by_its_beginning_and_its_end() {
        for count in [100, 1_000_000] {
            let lines: Vec<String> = (0..count).map(|number| format!("line {number}")).collect();
            let text = lines.join("\n");
            let shown = behind_bars(&text);
            assert_eq!(shown.lines().count(), HEAD + 1 + TAIL);
            for part in ["│ line 0\n", &format!("│ line {}\n", count - 1), "⋮"] {
                assert!(shown.contains(part), "{part} is missing in {shown}");
            }
        }
    }

    #[test]
    fn one_row_stays_one_row() {
        assert_eq!(in_one_row("a\nb\tc", 200), "a<U+000A>b    c");
        assert_eq!(in_one_row(&"x".repeat(500), 200).chars().count(), 200);
    }

    #[test]
    fn sizes_are_for_people() {
        assert_eq!(size("touch x"), "1 line, 7 B");
        assert_eq!(size(&format!("{}\n", "x".repeat(35)).repeat(52)), "52 lines, 1.8 KB");
    }
}
