use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::task_text::{self, Shown};
use super::{Hints, Tool, ToolError, ToolOutput, unknown_task};
use crate::exec::{Streams, Task, keys};
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
    /// Wait up to so many milliseconds for what comes back; 2000 unless given.
    wait_ms: Option<u64>,
    /// The session the task belongs to.
    session: Option<String>,
}

const DEFAULT_WAIT_MS: u64 = 2000;
const LONGEST_WAIT_MS: u64 = 600_000;

impl Tool for TaskInput {
    const NAME: &'static str = "task_input";
    const TITLE: &'static str = "Type into a task";
    const DESCRIPTION: &'static str = "Type text and keys into a running task's stdin or terminal, and get what came back: \
        the new output, or the screen once it is quiet.";
    const HINTS: Hints = Hints { read_only: false, destructive: true, idempotent: false, open_world: true };
    type Arguments = Arguments;

    async fn run(arguments: Arguments, context: &Context) -> Result<ToolOutput, ToolError> {
        let session = context.session(arguments.session.as_deref())?;
        let id = arguments.task_id.as_str();
        let task = session.tasks().get(id).ok_or_else(|| unknown_task(&session, id))?;
        let typed = Typed::new(&arguments, &task)?;
        if task.finished().is_some() {
            return Err(ToolError::new(format!("task {id} has ended")).hint("Read it with task_output."));
        }
        let action = TypeInput { task_id: id.to_owned(), text: arguments.text.clone().unwrap_or_default() };
        let _permitted = context.permit(action).await?;
        task.mark_read();
        typed.send(&task).await?;
        let wait = arguments.wait_ms.unwrap_or(DEFAULT_WAIT_MS).min(LONGEST_WAIT_MS);
        tokio::select! {
            () = task.settle(Duration::from_millis(wait)) => {}
            () = context.cancel.cancelled() => {}
        }
        let limit = context.server.config().exec.output.view_characters;
        let header = task_text::header(&task, None).await;
        let text = header + &task_text::body(&session, &task, Shown::Unread, limit);
        if task.finished().is_some() {
            session.tasks().mark_known(id);
        }
        Ok(text.into())
    }
}

/// What goes to the task, in order.
struct Typed {
    bytes: Vec<u8>,
    /// Keys that have a meaning of their own for a task without a terminal.
    ends_input: bool,
    signal: Option<i32>,
}

impl Typed {
    fn new(arguments: &Arguments, task: &Task) -> Result<Self, ToolError> {
        let names = arguments.keys.as_deref().unwrap_or_default();
        if arguments.text.as_deref().unwrap_or_default().is_empty() && names.is_empty() {
            return Err(ToolError::new("nothing to type: give text, keys, or both"));
        }
        let mut typed =
            Self { bytes: arguments.text.clone().unwrap_or_default().into_bytes(), ends_input: false, signal: None };
        let application = match &task.streams {
            Streams::Terminal { terminal, .. } => Some(terminal.expects_application_keys()),
            Streams::Pipes { .. } => None,
        };
        for name in names {
            let bytes =
                keys::bytes(name, application.unwrap_or(false)).map_err(|error| ToolError::new(error.to_string()))?;
            match (application, bytes.as_slice()) {
                // Without a terminal nobody turns these keys into what they mean, so we do.
                (None, [0x04]) => typed.ends_input = true,
                (None, [0x03]) => typed.signal = Some(libc::SIGINT),
                (None, [0x1c]) => typed.signal = Some(libc::SIGQUIT),
                (None, b"\r") => typed.bytes.push(b'\n'),
                _ => typed.bytes.extend(bytes),
            }
        }
        Ok(typed)
    }

    async fn send(&self, task: &Task) -> Result<(), ToolError> {
        let input = task.input.as_ref().ok_or_else(|| {
            ToolError::new(format!("task {} has no open stdin: it was given when it was started", task.id))
        })?;
        if !self.bytes.is_empty() {
            let written = input.write(&self.bytes).await;
            written.map_err(|error| ToolError::new(format!("failed to type into task {}: {error}", task.id)))?;
        }
        if self.ends_input {
            input.close().await;
        }
        if let Some(signal) = self.signal {
            task.process.signal(signal).await;
        }
        Ok(())
    }
}
