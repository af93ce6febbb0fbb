//! How a command's streams look in a result: bounded `stderr:` and `stdout:` blocks, the truncation text, and how to read
//! the rest.

use crate::exec::{Loss, Recording, View, clean};
use crate::server::Session;

/// Lines of the end that are shown when a failed command printed more than fits.
const TAIL_LINES: usize = 20;
/// Bytes of that end.
const TAIL_BYTES: usize = 16_000;

/// Appends both streams in the contract's order; a stream that was cut gets an id in the session.
pub fn append(text: &mut String, session: &Session, exit_code: i32, stderr: &Recording, stdout: &Recording) {
    for (name, recording) in [("stderr", stderr), ("stdout", stdout)] {
        let view = recording.get().view.snapshot();
        append_view(text, session, exit_code, name, &view, recording);
    }
}

/// Appends one stream, or the part of it that the view holds.
pub fn append_view(
    text: &mut String,
    session: &Session,
    exit_code: i32,
    name: &'static str,
    view: &View,
    recording: &Recording,
) {
    if view.head().is_empty() {
        return;
    }
    text.push_str(&format!("\n{name}:\n{}", view.head()));
    if view.is_cut() {
        let id = session.store(name, exit_code, recording.clone());
        text.push_str(&truncation(recording, view, &id, exit_code));
    }
}

fn truncation(recording: &Recording, view: &View, id: &str, exit_code: i32) -> String {
    let (total, limit) = (view.total(), view.limit());
    let mut text = format!("\n\n[Truncated: output was {total} characters, showing first {limit}]\n{}", stored_as(id));
    if let Some(loss) = loss_text(recording) {
        text.push_str(&format!("[{loss}]\n"));
    }
    if exit_code != 0 {
        let end = clean(&recording.get().spill.end(TAIL_BYTES));
        let lines: Vec<&str> = end.split_inclusive('\n').collect();
        let last = &lines[lines.len().saturating_sub(TAIL_LINES)..];
        text.push_str(&format!("[Last {} lines:]\n{}", last.len(), last.concat()));
    }
    text
}

/// Where the whole of a stream can be read.
pub fn stored_as(id: &str) -> String {
    format!(
        "[The whole is stored: task_output with task_id=\"{id}\" and from_line, tail or grep reads it without running the \
         command again.]\n"
    )
}

/// What is missing from the store, and why.
pub fn loss_text(recording: &Recording) -> Option<String> {
    let recorded = recording.get();
    let stored = recorded.spill.length();
    Some(match recorded.spill.loss()? {
        Loss::Budget { bytes } => format!(
            "Only the first {bytes} bytes are stored: that is the disk budget, [output] store_bytes in the configuration."
        ),
        Loss::Full(full) => format!("Only the first {stored} bytes are stored: {full}."),
        Loss::Removed(full) => format!("Nothing of it is stored any more: {full}."),
        Loss::Failed { reason } => format!("Only the first {stored} bytes are stored: {reason}."),
    })
}
