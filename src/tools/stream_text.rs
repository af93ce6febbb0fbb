//! How a command's streams look in a result: bounded `stderr:` and `stdout:` blocks, the truncation text, and how to read
//! the rest.

use crate::exec::{Loss, Recording, View, clean};
use crate::server::Session;

/// Lines of the end that are shown when a failed command printed more than fits.
const TAIL_LINES: usize = 20;
/// Bytes of that end.
const TAIL_BYTES: usize = 16_000;
/// Bytes of a stream that [`complete_text`] shows.
const COMPLETE_CAP: usize = 10 << 20;

/// Appends both streams in the contract's order. A stream that is cut or cannot be shown gets an id, and a line before the
/// blocks names it: clients cut results too, and that line survives.
pub fn append(text: &mut String, session: &Session, exit_code: i32, stderr: &Recording, stdout: &Recording) {
    let views = (stderr.get().view.snapshot(), stdout.get().view.snapshot());
    append_views(text, session, exit_code, &[("stderr", views.0, stderr), ("stdout", views.1, stdout)]);
}

/// The same for the parts of the streams that these views hold.
pub fn append_views(
    text: &mut String,
    session: &Session,
    exit_code: i32,
    views: &[(&'static str, View, &Recording); 2],
) {
    let mut blocks = String::new();
    for (name, view, recording) in views.iter().filter(|(_, view, _)| view.total() > 0) {
        let store = || session.store(name, exit_code, (*recording).clone());
        if recording.is_binary() {
            let bytes = recording.get().spill.seen();
            let id = store();
            blocks.push_str(&format!("\n{name}:\n[binary output, {bytes} bytes, stored as {id}]\n"));
            continue;
        }
        blocks.push_str(&format!("\n{name}:\n{}", view.head()));
        if view.is_cut() {
            let id = store();
            text.push_str(&format!("stored: {id} ({} characters)\n", view.total()));
            blocks.push_str(&truncation(recording, view, &id, exit_code));
        }
    }
    text.push_str(&blocks);
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

/// A whole stream, up to a stated cap, for the tools whose users expect all of it.
pub fn complete_text(recording: &Recording) -> String {
    let mut bytes = Vec::new();
    recording.each_piece(0, |piece| {
        let room = COMPLETE_CAP - bytes.len();
        bytes.extend_from_slice(&piece[..piece.len().min(room)]);
    });
    let seen = recording.get().spill.seen();
    let mut text = clean(&bytes);
    if seen > bytes.len() as u64 {
        text.push_str(&format!("\n\n[Truncated: output was {seen} bytes, showing first {}]", bytes.len()));
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
