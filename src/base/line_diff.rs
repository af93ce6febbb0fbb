//! The difference between two texts, line by line. Only one algorithm of the crate is used, on one type: its own diffs of texts
//! bring all of its algorithms for several types of text, which are 600 KB of code.

use std::collections::HashMap;
use std::fmt::Write;
use std::ops::Range;
use std::time::Instant;

use similar::algorithms::{Capture, Compact, Replace, myers};
use similar::{DiffOp, DiffTag, group_diff_ops};

/// Lines that differ: a range of the old ones, and the range of the new ones that takes its place. Either may be empty.
pub type Changed = (Range<usize>, Range<usize>);

/// What has to change in the old lines to get the new ones. After the deadline the answer is rough, but right.
pub fn changes<'a>(
    old: impl Iterator<Item = &'a [u8]>,
    new: impl Iterator<Item = &'a [u8]>,
    deadline: Option<Instant>,
) -> Vec<Changed> {
    let ops = operations(old, new, deadline);
    let changed = ops.iter().filter(|op| op.tag() != DiffTag::Equal);
    changed.map(|op| (op.old_range(), op.new_range())).collect()
}

/// A unified diff without the names of files, and the lines that changed. `hint` says where the last line has no end.
pub fn unified(old: &str, new: &str, context: usize, hint: bool, deadline: Option<Instant>) -> (String, Vec<Changed>) {
    let (old, new): (Vec<&str>, Vec<&str>) = (lines(old).collect(), lines(new).collect());
    let ops = operations(old.iter().map(|line| line.as_bytes()), new.iter().map(|line| line.as_bytes()), deadline);
    let changed = ops.iter().filter(|op| op.tag() != DiffTag::Equal);
    let changed = changed.map(|op| (op.old_range(), op.new_range())).collect();
    let mut text = String::new();
    for group in group_diff_ops(ops, context) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let range = |first: Range<usize>, last: Range<usize>| extent(first.start, last.end);
        let _ = writeln!(
            text,
            "@@ -{} +{} @@",
            range(first.old_range(), last.old_range()),
            range(first.new_range(), last.new_range())
        );
        for op in group {
            let (removed, added) = (&old[op.old_range()], &new[op.new_range()]);
            match op.tag() {
                DiffTag::Equal => write_lines(&mut text, ' ', removed, hint),
                DiffTag::Delete | DiffTag::Insert | DiffTag::Replace => {
                    write_lines(&mut text, '-', removed, hint);
                    write_lines(&mut text, '+', added, hint);
                }
            }
        }
    }
    (text, changed)
}

/// The lines of a text with their ends.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive('\n')
}

/// Every line gets a number, because long lines take long to compare again and again.
fn operations<'a>(
    old: impl Iterator<Item = &'a [u8]>,
    new: impl Iterator<Item = &'a [u8]>,
    deadline: Option<Instant>,
) -> Vec<DiffOp> {
    let mut numbers: HashMap<&[u8], usize> = HashMap::new();
    let mut number = |line: &'a [u8]| {
        let next = numbers.len();
        *numbers.entry(line).or_insert(next)
    };
    let old: Vec<usize> = old.map(&mut number).collect();
    let new: Vec<usize> = new.map(&mut number).collect();
    let mut hook = Compact::new(Replace::new(Capture::new()), &old[..], &new[..]);
    let Ok(()) = myers::diff_deadline(&mut hook, &old[..], 0..old.len(), &new[..], 0..new.len(), deadline);
    hook.into_inner().into_inner().into_ops()
}

/// As `diff -u` writes it: the first line, and how many there are.
fn extent(start: usize, end: usize) -> String {
    match end - start {
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        count => format!("{},{count}", start + 1),
    }
}

fn write_lines(text: &mut String, mark: char, lines: &[&str], hint: bool) {
    for line in lines {
        text.push(mark);
        text.push_str(line);
        if !line.ends_with('\n') {
            text.push_str(if hint { "\n\\ No newline at end of file\n" } else { "\n" });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unified_diff_reads_as_that_of_diff() {
        let rows = [
            ("a\nb\nc\nd\n", "a\nB\nc\nd\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"),
            ("", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n"),
            ("a\n", "", "@@ -1 +0,0 @@\n-a\n"),
            ("a", "b", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n"),
            (
                "1\n2\n3\n4\n5\n6\n7\n",
                "1\nx\n3\n4\n5\ny\n7\n",
                "@@ -1,3 +1,3 @@\n 1\n-2\n+x\n 3\n@@ -5,3 +5,3 @@\n 5\n-6\n+y\n 7\n",
            ),
            ("a\n", "a\n", ""),
        ];
        for (old, new, wanted) in rows {
            assert_eq!(unified(old, new, 1, true, None).0, wanted, "{old:?} {new:?}");
        }
    }

    #[test]
    fn the_changes_turn_the_old_lines_into_the_new_ones() {
        let (old, new): ([&[u8]; 4], [&[u8]; 4]) = ([b"a", b"b", b"c", b"d"], [b"b", b"x", b"d", b"e"]);
        let mut made = old.to_vec();
        for (removed, added) in changes(old.into_iter(), new.into_iter(), None).into_iter().rev() {
            made.splice(removed, new[added].iter().copied());
        }
        assert_eq!(made, new);
    }
}
