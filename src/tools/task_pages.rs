//! Parts of a stored output or a task: pages, tails and matches, with their line numbers in the header.

use crate::base::worker_threads;
use crate::exec::{Page, PageRequest, Recording, Streams, Task, page_of_text, read_page};
use crate::server::{Session, StoredOutput};

use super::{ToolError, stream_text, task_text};

/// The answer for an output id.
pub async fn of_output(output: StoredOutput, request: PageRequest) -> Result<String, ToolError> {
    let removed = output.recording.get().spill.removed();
    if let Some(full) = removed {
        return Err(ToolError::new(format!(
            "output {} is no longer stored: {full}, so the oldest outputs were removed",
            output.id
        ))
        .hint("Run the command again if you need it, and keep what you need in a file of the project."));
    }
    let page = read(output.recording.clone(), request).await?;
    let mut text = task_text::completed(output.exit_code) + &lines("lines", &page);
    append(&mut text, output.stream, &page);
    if let Some(loss) = stream_text::loss_text(&output.recording) {
        text.push_str(&format!("\n[{loss}]\n"));
    }
    Ok(text)
}

/// What follows a task's header.
pub async fn of_task(task: &Task, request: PageRequest) -> Result<String, ToolError> {
    match &task.streams {
        Streams::Terminal { terminal, .. } => {
            let page = page_of_text(&terminal.with_scrollback(usize::MAX), &request);
            Ok(format!("{}screen:\n{}", lines("lines", &page), page.text))
        }
        Streams::Pipes { stdout, stderr } => {
            let err = read(stderr.clone(), request.clone()).await?;
            let out = read(stdout.clone(), request).await?;
            let mut text = match err.total_lines {
                0 => lines("lines", &out),
                _ => lines("stderr_lines", &err) + &lines("stdout_lines", &out),
            };
            append(&mut text, "stderr", &err);
            append(&mut text, "stdout", &out);
            Ok(text)
        }
    }
}

/// A completed task is forgotten with its first read. What that read did not show stays readable by id.
pub fn keep_readable(text: &mut String, session: &Session, task: &Task) {
    let exit_code = task.finished().map_or(0, |finished| finished.exit_code);
    let streams = match &task.streams {
        Streams::Pipes { stdout, stderr } => vec![("stderr", stderr), ("stdout", stdout)],
        Streams::Terminal { raw, .. } => vec![("stdout", raw)],
    };
    for (name, recording) in streams.into_iter().filter(|(_, recording)| recording.get().spill.length() > 0) {
        let id = session.store(name, exit_code, recording.clone());
        text.push_str(&format!("\n[{name}]\n{}", stream_text::stored_as(&id)));
    }
}

async fn read(recording: Recording, request: PageRequest) -> Result<Page, ToolError> {
    let page = worker_threads::run(move || read_page(&recording, &request)).await;
    page.map_err(|error| ToolError::new(error.to_string()))?.map_err(|error| ToolError::new(error.to_string()))
}

fn lines(name: &str, page: &Page) -> String {
    let numbers = match (page.numbers.first(), page.numbers.last()) {
        (Some(first), Some(last)) if last - first + 1 == page.numbers.len() as u64 => format!("{first}-{last}"),
        (Some(_), Some(_)) => page.numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
        _ => "none".to_owned(),
    };
    format!("{name}: {numbers} of {}\n", page.total_lines)
}

fn append(text: &mut String, stream: &str, page: &Page) {
    if !page.text.is_empty() {
        text.push_str(&format!("\n{stream}:\n{}", page.text));
    }
    if page.cut {
        let next = page.numbers.last().map_or(1, |last| last + 1);
        text.push_str(&format!("\n[Cut here: the next page starts with from_line={next}]\n"));
    }
}
