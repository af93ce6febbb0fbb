use std::ops::Range;

use crate::files::text::numbered_lines::{self, aligned};

/// How many lines are shown before and after a change.
pub const CONTEXT: usize = 4;
/// How many lines a snippet has. The middle of a longer one is left out.
const MOST_LINES: usize = 120;

/// The numbered lines of a changed stretch of text and those around it.
pub fn around(text: &[u8], changed: &Range<usize>) -> String {
    around_in(text, changed, 0)
}

/// The same in a part of a text: so many lines end before the part.
pub fn around_in(text: &[u8], changed: &Range<usize>, lines_before: u64) -> String {
    let mut start = line_start(text, changed.start);
    for _ in 0..CONTEXT {
        start = line_start(text, start.saturating_sub(1));
    }
    let inside = &text[changed.clone()];
    // A change that ends with a line ending does not reach into the next line.
    let mut end = if inside.last() == Some(&b'\n') { changed.end } else { line_end(text, changed.end) };
    for _ in 0..CONTEXT {
        end = line_end(text, end);
    }
    let first = lines_before + memchr::memchr_iter(b'\n', &text[..start]).count() as u64 + 1;
    let lines = || text[start..end].split_inclusive(|byte| *byte == b'\n');
    // Millions of lines may have changed, so only the shown ones are kept.
    let count = lines().count();
    let left_out = count.saturating_sub(MOST_LINES);
    let head = if left_out > 0 { MOST_LINES / 2 } else { count };
    let shown = lines().take(head).chain(lines().skip(head + left_out)).map(numbered_lines::shown);
    let shown: Vec<String> = shown.collect();
    let last = (first + count as u64).saturating_sub(1);
    let mut text = aligned(first, &shown[..head], last);
    if left_out > 0 {
        text.push_str(&format!("[… {left_out} more lines]\n"));
        text.push_str(&aligned(first + (head + left_out) as u64, &shown[head..], last));
    }
    text
}

fn line_start(text: &[u8], at: usize) -> usize {
    memchr::memrchr(b'\n', &text[..at]).map_or(0, |newline| newline + 1)
}

/// The position right after the line that `at` is in.
fn line_end(text: &[u8], at: usize) -> usize {
    memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |newline| at + newline + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::text::numbered_lines::numbered;

    #[test]
    fn four_lines_on_either_side() {
        let all: Vec<String> = (1..=20).map(|n| format!("l{n}")).collect();
        let text = all.join("\n") + "\n";
        let at = text.find("l10").unwrap();
        let want = numbered(6, &all[5..14]);
        assert_eq!(around(text.as_bytes(), &(at..at + 3)), want);
        assert_eq!(around(text.as_bytes(), &(at..at + 4)), want);
        let end = numbered(16, &all[15..]);
        assert_eq!(around(text.as_bytes(), &(text.len() - 2..text.len())), end);
        assert_eq!(around(b"", &(0..0)), "");
        assert_eq!(around(b"a\nb", &(0..1)), "1\ta\n2\tb\n");
    }

    #[test]
    fn of_a_long_change_the_beginning_and_the_end_are_shown() {
        let text = "x\n".repeat(1_000);
        let shown = around(text.as_bytes(), &(0..text.len()));
        assert_eq!(shown.lines().count(), 121);
        assert!(shown.contains("[… 880 more lines]"), "{shown}");
    }
}
