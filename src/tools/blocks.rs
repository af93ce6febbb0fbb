//! How a command's streams look in a result: `stderr:` and `stdout:` blocks, bounded, with the way to the rest.

use crate::exec::{Loss, PageRequest, Recording, read_page};
use crate::server::Session;

/// Lines of the end that are shown when a failed command said more than fits.
const TAIL_LINES: u64 = 20;
/// Characters of that end.
const TAIL_CHARACTERS: usize = 4_000;

/// Appends both streams in the contract's order; a stream that was cut gets an id in the session.
pub fn append(text: &mut String, session: &Session, exit_code: i32, stderr: &Recording, stdout: &Recording) {
    for (name, recording) in [("stderr", stderr), ("stdout", stdout)] {
        let (shown, cut) = {
            let recorded = recording.get();
            let cut = recorded.view.is_cut().then(|| recorded.view.total());
            (recorded.view.head().to_owned(), cut)
        };
        if shown.is_empty() {
            continue;
        }
        text.push_str(&format!("\n{name}:\n{shown}"));
        if let Some(total) = cut {
            let id = session.store(name, exit_code, recording.clone());
            text.push_str(&truncation(recording, total, &shown, &id, exit_code));
        }
    }
}

fn truncation(recording: &Recording, total: u64, shown: &str, id: &str, exit_code: i32) -> String {
    let limit = shown.chars().count();
    let mut text = format!("\n\n[Truncated: output was {total} characters, showing first {limit}]\n");
    text.push_str(&format!(
        "[The whole is stored: task_output with task_id=\"{id}\" and from_line, tail or grep reads it without running the command again.]\n"
    ));
    if let Some(loss) = loss_text(recording) {
        text.push_str(&format!("[{loss}]\n"));
    }
    if exit_code != 0 {
        let request = PageRequest { tail: Some(TAIL_LINES), budget: TAIL_CHARACTERS, ..PageRequest::default() };
        if let Ok(page) = read_page(recording, &request) {
            text.push_str(&format!("[Last {} lines:]\n{}", page.numbers.len(), page.text));
        }
    }
    text
}

/// What is missing from the store, and why.
pub fn loss_text(recording: &Recording) -> Option<String> {
    let recorded = recording.get();
    let stored = recorded.spill.length();
    Some(match recorded.spill.loss()? {
        Loss::Budget { bytes } => format!(
            "Only the first {bytes} bytes are stored: that is the disk budget, [output] store_bytes in the configuration."
        ),
        Loss::Failed { reason } => format!("Only the first {stored} bytes are stored: {reason}."),
    })
}
