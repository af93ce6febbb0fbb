use super::lines::{body, first_ending, split};
use super::replace::{Fit, Plan};
use super::splice::Splice;
use crate::files::FileError;

/// Plans to put whole lines after a line; 0 is the top. The new lines get the line ending of the file.
pub fn plan(text: &[u8], after: i64, lines: &str) -> Result<Plan, FileError> {
    let bad = |what: String| FileError::BadRange { what: format!("insert_line: {what}") };
    let after = usize::try_from(after).map_err(|_| bad(format!("must be >= 0, got {after}")))?;
    let mut offsets = vec![0];
    offsets.extend(memchr::memchr_iter(b'\n', text).map(|newline| newline + 1));
    let unended = text.last().is_some_and(|last| *last != b'\n');
    if unended {
        offsets.push(text.len());
    }
    let Some(at) = offsets.get(after).copied() else {
        return Err(bad(format!("{after} exceeds total lines {}", offsets.len() - 1)));
    };
    let ending = first_ending(split(text));
    let mut inserted: Vec<u8> = split(lines.as_bytes()).flat_map(|line| [body(line), ending].concat()).collect();
    if at == text.len() && unended {
        // The last line has no ending, so the ending goes before the new lines, and the file still ends without one.
        inserted.truncate(inserted.len() - ending.len().min(inserted.len()));
        inserted = [ending, &inserted].concat();
    }
    let splices = vec![Splice { range: at..at, text: inserted }];
    Ok(Plan { splices, count: 1, matched: at..at, fit: Fit::Exact })
}
