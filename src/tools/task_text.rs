//! How a task looks in a result: its status, its streams or its screen, and what to do when it waits for an answer.

use std::sync::Arc;

use super::stream_text;
use crate::exec::{Streams, Task, WaitEnd};
use crate::server::{Context, Session};

/// Which part of its output is shown.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Part {
    All,
    /// Only what came since the last read.
    Unread,
}

/// The header: the task's status and, after a wait for a condition, what ended the wait.
pub async fn header(task: &Task, waited: Option<WaitEnd>) -> String {
    let mut text = match task.finished() {
        Some(finished) => completed(finished.exit_code),
        None => "status: running\n".to_owned(),
    };
    if let Some(waited) = waited {
        text.push_str(&format!("wait_ended: {}\n", reason(waited)));
    }
    if task.is_waiting().await {
        text.push_str(&waiting(task));
    }
    text
}

/// The status of what has ended.
pub fn completed(exit_code: i32) -> String {
    format!("status: completed\nexit_code: {exit_code}\n")
}

fn reason(waited: WaitEnd) -> &'static str {
    match waited {
        WaitEnd::Exit => "the task ended",
        WaitEnd::Pattern => "the pattern matched",
        WaitEnd::Port => "the port accepts connections",
        WaitEnd::WaitsForInput => "the task waits for input",
        WaitEnd::Quiet => "the screen has been quiet for 3 s",
        WaitEnd::TimeUp => "the time is up",
        WaitEnd::Cancelled => "cancelled",
    }
}

/// The prompt, and the calls that answer it or end it.
fn waiting(task: &Task) -> String {
    format!(
        "waiting_for_input: {:?}\nanswer_with: task_input task_id=\"{id}\" text=\"…\\n\", or end it: task_stop task_id=\"{id}\"\n",
        task.prompt(),
        id = task.id,
    )
}

/// Its streams as blocks, or its screen. The output so far counts as read, and the sandbox's denials in it are explained on
/// this result.
pub fn body(context: &Context, session: &Session, task: &Arc<Task>, part: Part) -> String {
    let mut text = String::new();
    let exit_code = task.finished().map_or(0, |finished| finished.exit_code);
    match (&task.streams, part) {
        (Streams::Terminal { terminal, .. }, _) => text.push_str(&format!("screen:\n{}", terminal.screen())),
        (Streams::Pipes { stdout, stderr }, Part::All) => {
            stream_text::append(&mut text, session, exit_code, stderr, stdout);
        }
        (Streams::Pipes { stdout, stderr }, Part::Unread) => {
            let (err, out) = task.unread(context.server.config().exec.output.view_characters);
            let views = [("stderr", err, stderr), ("stdout", out, stdout)];
            stream_text::append_views(&mut text, session, exit_code, &views);
        }
    }
    mark_read(context, task);
    text
}

/// What every tool does that has shown a task's output.
pub fn mark_read(context: &Context, task: &Task) {
    task.mark_read();
    context.note_denials(&task.denials, &task.streams);
}
