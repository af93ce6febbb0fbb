use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::task_text::{self, Part};
use super::time_limit::wait_limit;
use super::{Hints, Stop, Tool, ToolError, ToolOutput, unknown_task};
use crate::exec::Typing;
use crate::policy::action::TypeInput;
use crate::server::Context;

/// Types into a running task.
pub struct TaskInput;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The task or terminal.
    task_id: String,
    /// Text as typed; end a line with a newline.
    text: Option<String>,
    /// Keys after the text, by tmux's names: C-c, Up, Enter, Escape, Tab, BSpace, PageUp, F1, M-x.
    keys: Option<Vec<String>>,
    /// Wait up to so many milliseconds for what comes back; 5000 unless given.
    wait_ms: Option<u64>,
    /// The session the task belongs to.
    session: Option<String>,
}

const DEFAULT_WAIT: Duration = Duration::from_secs(5);

impl Tool for TaskInput {
    const NAME: &'static str = "task_input";
    const TITLE: &'static str = "Type into a task";
    const DESCRIPTION: &'static str = "Type text and keys into a running task's stdin or terminal, and get what came back: \
        the new output or the screen, once the program waits for input again or has ended, at most wait_ms later.";
    const HINTS: Hints = Hints { read_only: false, destructive: true, idempotent: false, open_world: true };
    type Arguments = Arguments;

    async fn run(arguments: Arguments, context: &Context) -> Result<ToolOutput, Stop> {
        let id = arguments.task_id.as_str();
        let session = context.session_of(id, arguments.session.as_deref())?;
        let task = session.tasks().get(id).ok_or_else(|| unknown_task(context, id))?;
        let (text, keys) = (arguments.text.unwrap_or_default(), arguments.keys.unwrap_or_default());
        if text.is_empty() && keys.is_empty() {
            return Err(ToolError::new("nothing to type: give text, keys, or both").into());
        }
        Typing::new(&text, &keys, &task.streams).map_err(|error| ToolError::new(error.to_string()))?;
        if task.finished().is_some() {
            return Err(ToolError::new(format!("task {id} has ended")).hint("Read it with task_output.").into());
        }
        let permitted = context.permit(&session, TypeInput { task_id: id.to_owned(), text, keys }).await?;
        task.mark_read();
        let before = task.type_in(&permitted).await.map_err(|error| ToolError::new(error.to_string()))?;
        let limit = wait_limit(arguments.wait_ms, DEFAULT_WAIT);
        tokio::select! {
            () = task.takes_input(before) => {}
            () = tokio::time::sleep(limit) => {}
            () = context.cancel.cancelled() => {}
        }
        let header = task_text::header(&task, None).await;
        let text = header + &task_text::body(context, &session, &task, Part::Unread);
        if task.finished().is_some() {
            session.tasks().mark_known(id);
        }
        Ok(text.into())
    }
}
