//! The difference between two versions of a file.

use std::ops::Range;
use std::time::{Duration, Instant};

use crate::base::line_diff;
use crate::files::text::numbered_lines;

/// How many lines of a diff are shown.
const MOST_LINES: usize = 60;
const CONTEXT: usize = 2;
/// The diff is shown beside the answer, so a rough diff in time is better than a late one.
const PATIENCE: Duration = Duration::from_millis(300);

/// What changed from the old version to the new one.
#[derive(Debug)]
pub struct Diff {
    /// The lines of the new version that changed, counted from 0. A range is empty where lines were only removed.
    pub lines: Vec<Range<usize>>,
    /// A unified diff, bounded.
    pub text: String,
}

impl Diff {
    /// Whether one of these lines of the new version changed, or lines between them were removed.
    pub fn touches(&self, lines: &Range<usize>) -> bool {
        // The changes are in order, so the first one that does not end before the lines decides.
        let next = self.lines.partition_point(|changed| changed.end <= lines.start);
        self.lines.get(next).is_some_and(|changed| changed.start < lines.end)
    }
}

pub fn between(old: &[u8], new: &[u8]) -> Diff {
    let (old, new) = (String::from_utf8_lossy(old), String::from_utf8_lossy(new));
    let deadline = Some(Instant::now() + PATIENCE);
    let (whole, changed) = line_diff::unified(&old, &new, CONTEXT, false, deadline);
    let lines = changed.into_iter().map(|(_, new)| new).collect();
    let mut text: Vec<String> =
        whole.lines().take(MOST_LINES).map(|line| numbered_lines::shown(line.as_bytes())).collect();
    let count = whole.lines().count();
    if count > MOST_LINES {
        text.push(format!("[{} more lines]", count - MOST_LINES));
    }
    Diff { lines, text: text.join("\n") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_touches_the_lines_that_changed() {
        let diff = between(b"a\nb\nc\nd\n", b"a\nB\nc\nd\n");
        assert_eq!((diff.lines.len(), diff.lines[0].clone()), (1, 1..2));
        assert_eq!(diff.text, "@@ -1,4 +1,4 @@\n a\n-b\n+B\n c\n d");
        for (lines, touched) in [(0..1, false), (1..2, true), (0..2, true), (2..4, false)] {
            assert_eq!(diff.touches(&lines), touched, "{lines:?}");
        }
    }

    #[test]
    fn a_line_removed_between_two_lines_touches_both_together() {
        let diff = between(b"a\nb\nc\n", b"a\nc\n");
        for (lines, touched) in [(0..1, false), (1..2, false), (0..2, true)] {
            assert_eq!(diff.touches(&lines), touched, "{lines:?}");
        }
    }
}
