use super::lines::{body, first_ending, split};
use super::replace::{Fit, Plan};
use super::splice::{Changes, Splice};
use crate::files::FileError;

/// Plans to put whole lines after a line; 0 is the top. The new lines get the line ending of the file.
pub fn plan(text: &[u8], after: i64, lines: &str) -> Result<Plan<'static>, FileError> {
    let bad = |what: String| FileError::BadRange { what: format!("insert_line: {what}") };
    let after = usize::try_from(after).map_err(|_| bad(format!("must be >= 0, got {after}")))?;
    let newlines = || memchr::memchr_iter(b'\n', text);
    let unended = text.last().is_some_and(|last| *last != b'\n');
    let at = match after.checked_sub(1) {
        None => 0,
        Some(before) => match newlines().nth(before) {
            Some(newline) => newline + 1,
            None if unended && newlines().count() == before => text.len(),
            None => {
                let count = newlines().count() + usize::from(unended);
                return Err(bad(format!("{after} exceeds total lines {count}")));
            }
        },
    };
    let ending = first_ending(split(text));
    let mut inserted = Vec::with_capacity(lines.len() + ending.len());
    for line in split(lines.as_bytes()) {
        inserted.extend_from_slice(body(line));
        inserted.extend_from_slice(ending);
    }
    if at == text.len() && unended {
        // The last line has no ending, so the ending goes before the new lines, and the file still ends without one.
        inserted.truncate(inserted.len() - ending.len().min(inserted.len()));
        inserted = [ending, &inserted].concat();
    }
    let changes = Changes::Few(vec![Splice { range: at..at, text: inserted }]);
    Ok(Plan { changes, count: 1, matched: at..at, fit: Fit::Exact })
}
